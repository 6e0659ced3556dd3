// Mooring's processes on a real API server with RBAC, NodeRestriction and an audit log. No right is refused, and Mooring's
// kinds, roles, policies and chart are accepted as they stand in deploy/.
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../../../scripts/lib/run.mjs";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { withConflicts } from "./conflicts.mjs";
import { helmStep } from "./helm.mjs";
import { nodePoliciesStep } from "./policies/nodes.mjs";
import { nothingRefused } from "./support/audit.mjs";
import { startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { timed } from "./support/report.mjs";
import { nodeSecrets, tenantsChooseNoSecrets } from "./tenants.mjs";

/** A controller of one file and that of another would be of one namespace, of which one leads: so that file runs first. */
const FIRST = "own-kinds.test.ts";

/** Exit codes of our tests, with Mooring's processes on this server. */
async function runTests(cluster) {
  const env = { ...process.env, MOORING_CLUSTER_KUBECONFIG: cluster.admin };
  const names = (await readdir(join(ROOT, "test/cluster"))).filter((name) => name.endsWith(".test.ts"));
  const runAll = (...files) => {
    const args = files.map((name) => join("test/cluster", name));
    return run("node", ["scripts/node-test.mjs", "--part=rest", ...args], { env, cwd: ROOT });
  };
  const first = await withConflicts(new Kube(cluster), () => runAll(FIRST));
  return [first, await runAll(...names.filter((name) => name !== FIRST))];
}

/** Throws when something is refused or a test fails. */
export async function apiServerStep({ folder, bin, say }) {
  await mkdir(folder, { recursive: true });
  const cluster = await startControlPlane({ folder, bin, only: ["etcd", "kube-apiserver"] });
  try {
    say(await cluster.kubectl("version"));
    await timed("the chart by helm", () => helmStep(cluster, say), ["K8S-113"]);
    await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=900s");
    await cluster.kubectl("apply", "-f", join(ROOT, "deploy/manifests"));
    await nodePoliciesStep(cluster, say);
    const exits = await runTests(cluster);
    await timed("secrets of volumes", () => nodeSecrets(cluster), ["K8S-119"]);
    await timed("who chooses secrets", () => tenantsChooseNoSecrets(cluster), ["K8S-112", "K8S-115"]);
    await nothingRefused(cluster);
    if (exits.some((exit) => exit !== 0)) throw new Error("not everything passed: see above");
  } finally {
    await cluster.stop();
  }
}
