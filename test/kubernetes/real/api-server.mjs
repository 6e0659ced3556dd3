#!/usr/bin/env node
// `npm run test:kubernetes`: Mooring's processes on a real API server with RBAC, NodeRestriction and an audit log. No
// right is refused, and Mooring's kinds, roles and policies are accepted as they stand in deploy/.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../../scripts/lib/bundle.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { readAudit, unusedRights } from "./support/audit.mjs";
import { buildPrograms } from "./support/components.mjs";
import { startControlPlane } from "./support/control-plane.mjs";

const NEEDED = ["etcd", "kube-apiserver"];
const say = (text) => process.stdout.write(`${text}\n`);

await bundle();
const bin = await buildPrograms(NEEDED, say);
const folder = await mkdtemp(join(tmpdir(), "mooring-kubernetes-"));
let exit = 1;
const cluster = await startControlPlane({ folder, bin, only: NEEDED });
try {
  say(await cluster.kubectl("version"));
  say(
    await cluster.kubectl(
      "apply",
      "--server-side",
      "-f",
      join(ROOT, "deploy/crds"),
      "-f",
      join(ROOT, "deploy/admission"),
    ),
  );
  say(await cluster.kubectl("create", "namespace", "mooring"));
  say(await cluster.kubectl("apply", "-f", join(ROOT, "deploy/manifests")));
  await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  const env = { ...process.env, MOORING_CLUSTER_KUBECONFIG: cluster.admin };
  exit = await run("node", ["scripts/node-test.mjs", "--part=rest", "test/cluster"], { env, cwd: ROOT });
  const { refused, used } = await readAudit(cluster.auditLog);
  for (const line of refused) say(`refused: ${line}`);
  for (const line of await unusedRights(join(ROOT, "deploy/manifests/rbac.yaml"), used))
    say(`not used here: ${line}`);
  if (refused.length > 0) exit = 1;
} finally {
  await cluster.stop();
  if (process.env.MOORING_KEEP === undefined) await rm(folder, { recursive: true, force: true });
  else say(`kept: ${folder}`);
}
process.exit(exit);
