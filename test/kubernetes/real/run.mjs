#!/usr/bin/env node
// `npm run test:kubernetes`: Mooring on a real Kubernetes. First an API server with RBAC, NodeRestriction and an audit log, the
// chart by helm, and both processes with their own rights; `--short` ends there. Then a cluster with a kubelet and pods.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundle } from "../../../scripts/lib/bundle.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { apiServerStep } from "./api-server.mjs";
import { buildPrograms, PROGRAMS } from "./support/components.mjs";
import { busyboxImage } from "./support/images.mjs";
import { detachLoops, makeCgroups, removeCgroups, runApart } from "./support/namespaces.mjs";

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    // Of what is long, only this one.
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

/** A cluster with a kubelet and Mooring's image, in namespaces of its own. */
async function clusterStep(at) {
  await mkdir(at);
  await busyboxImage(join(at, "busybox.tar"));
  const made = await run("node", ["scripts/image.mjs", "--out", join(at, "mooring.tar")], { cwd: ROOT });
  if (made !== 0) throw new Error("there is no image");
  const cgroup = `mooring-cluster-${process.pid}`;
  await makeCgroups(cgroup);
  try {
    const script = fileURLToPath(new URL("cluster.mjs", import.meta.url));
    if ((await runApart(script, [at, bin, cgroup])) !== 0) throw new Error("the cluster's step has failed");
  } finally {
    await removeCgroups(cgroup);
    await detachLoops(at);
  }
}

await bundle();
const bin = await buildPrograms(values.short ? ["etcd", "kube-apiserver"] : PROGRAMS, say);
const folder = await mkdtemp(join(tmpdir(), "mooring-kubernetes-"));
try {
  if (values.only !== "cluster")
    await step("API server", () => apiServerStep({ folder: join(folder, "api"), bin, say }));
  if (!values.short && values.only !== "api-server")
    await step("cluster", () => clusterStep(join(folder, "c")));
} finally {
  if (process.env.MOORING_KEEP === undefined) await rm(folder, { recursive: true, force: true });
  else say(`kept: ${folder}`);
}
