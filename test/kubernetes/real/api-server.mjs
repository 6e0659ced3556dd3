// Mooring's processes on a real API server with RBAC, NodeRestriction and an audit log. No right is refused, and Mooring's
// kinds, roles, policies and chart are accepted as they stand in deploy/.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../../../scripts/lib/run.mjs";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { helmStep } from "./helm.mjs";
import { nodePoliciesStep } from "./node-policies.mjs";
import { readAudit } from "./support/audit.mjs";
import { startControlPlane } from "./support/control-plane.mjs";

/** Throws when something is refused or a test fails. */
export async function apiServerStep({ folder, bin, say }) {
  await mkdir(folder, { recursive: true });
  const cluster = await startControlPlane({ folder, bin, only: ["etcd", "kube-apiserver"] });
  try {
    say(await cluster.kubectl("version"));
    await helmStep(cluster, say);
    await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    await cluster.kubectl("apply", "-f", join(ROOT, "deploy/manifests"));
    await nodePoliciesStep(cluster, say);
    const env = { ...process.env, MOORING_CLUSTER_KUBECONFIG: cluster.admin };
    const exit = await run("node", ["scripts/node-test.mjs", "--part=rest", "test/cluster"], {
      ...{ env, cwd: ROOT },
    });
    const { refused } = await readAudit(cluster.audit);
    for (const line of refused) say(`refused: ${line}`);
    if (exit !== 0 || refused.length > 0) throw new Error("not everything passed: see above");
  } finally {
    await cluster.stop();
  }
}
