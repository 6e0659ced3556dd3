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
import { timed } from "./support/report.mjs";
import { nodeSecrets, tenantsChooseNoSecrets } from "./tenants.mjs";

/** Throws when something is refused or a test fails. */
export async function apiServerStep({ folder, bin, say }) {
  await mkdir(folder, { recursive: true });
  const cluster = await startControlPlane({ folder, bin, only: ["etcd", "kube-apiserver"] });
  try {
    say(await cluster.kubectl("version"));
    await timed("the chart by helm", () => helmStep(cluster, say), ["K8S-113"]);
    await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    await cluster.kubectl("apply", "-f", join(ROOT, "deploy/manifests"));
    await nodePoliciesStep(cluster, say);
    const env = { ...process.env, MOORING_CLUSTER_KUBECONFIG: cluster.admin };
    const exit = await run("node", ["scripts/node-test.mjs", "--part=rest", "test/cluster"], {
      ...{ env, cwd: ROOT },
    });
    await timed("secrets of volumes", () => nodeSecrets(cluster), ["K8S-119"]);
    await timed("who chooses secrets", () => tenantsChooseNoSecrets(cluster), ["K8S-112", "K8S-115"]);
    const { refused } = await readAudit(cluster.audit);
    for (const line of refused) say(`refused: ${line}`);
    if (exit !== 0 || refused.length > 0) throw new Error("not everything passed: see above");
  } finally {
    await cluster.stop();
  }
}
