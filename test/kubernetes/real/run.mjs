#!/usr/bin/env node
// `npm run test:kubernetes`: Mooring on a real Kubernetes. First an API server with RBAC, NodeRestriction and an audit log, the
// chart by helm, and both processes with their own rights; `--short` ends there. Then a cluster with a kubelet and pods, and one
// with two nodes, which lose their API server and are upgraded.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { kubectlPaths } from "../../../scripts/kubectl.mjs";
import { bundle } from "../../../scripts/lib/bundle.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { apiServerStep } from "./api-server.mjs";
import { WORKERS } from "./flow/two-nodes.mjs";
import { buildPrograms, PROGRAMS } from "./support/components.mjs";
import { busyboxImage } from "./support/images.mjs";
import { detachLoops, makeCgroups, removeCgroups, runApart } from "./support/namespaces.mjs";

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    // `api-server`, `cluster` or `nodes`: this step only.
    only: { type: "string" },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);

async function step(name, work) {
  const from = Date.now();
  say(`\n=== ${name}`);
  await work();
  say(`=== ${name}: ${Math.round((Date.now() - from) / 1000)} s`);
}

/** A cluster with Mooring's image, in namespaces of its own. `groups`: control groups that its script needs below its own. */
async function clusterStep(at, script, groups = []) {
  await mkdir(at);
  await busyboxImage(join(at, "busybox.tar"));
  const made = await run("node", ["scripts/image.mjs", "--out", join(at, "mooring.tar")], { cwd: ROOT });
  if (made !== 0) throw new Error("there is no image");
  const cgroup = `mooring-cluster-${process.pid}`;
  for (const group of ["", ...groups]) await makeCgroups(join(cgroup, group));
  try {
    const file = fileURLToPath(new URL(script, import.meta.url));
    if ((await runApart(file, [at, bin, cgroup])) !== 0) throw new Error("the cluster's step has failed");
  } finally {
    await removeCgroups(cgroup);
    await detachLoops(at);
  }
}

await bundle();
// They are fetched where there is a network: the clusters' machines have their own.
await kubectlPaths();
const bin = await buildPrograms(values.short ? ["etcd", "kube-apiserver"] : PROGRAMS, say);
const folder = await mkdtemp(join(tmpdir(), "mooring-kubernetes-"));
try {
  const wanted = (name) => values.only === undefined || values.only === name;
  if (wanted("api-server"))
    await step("API server", () => apiServerStep({ folder: join(folder, "api"), bin, say }));
  if (!values.short && wanted("cluster"))
    await step("cluster", () => clusterStep(join(folder, "c"), "cluster.mjs"));
  if (!values.short && wanted("nodes"))
    await step("nodes", () => clusterStep(join(folder, "n"), "nodes.mjs", WORKERS));
} finally {
  if (process.env.MOORING_KEEP === undefined) await rm(folder, { recursive: true, force: true });
  else say(`kept: ${folder}`);
}
