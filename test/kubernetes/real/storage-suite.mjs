// The first process of a machine of its own: a cluster with two nodes and Mooring, and Kubernetes' own storage tests on it.
// `node storage-suite.mjs FOLDER BIN CGROUP IMAGES [FOCUS]`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { nothingOfVolumes } from "./flow/leave.mjs";
import { containers } from "./flow/restarts.mjs";
import { helmOf } from "./helm.mjs";
import { leftOut } from "./suite/left-out.mjs";
import { printReport, readReport } from "./suite/report.mjs";
import { readAudit } from "./support/audit.mjs";
import { SERVICE_ADDRESS, startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish } from "./support/namespaces.mjs";
import { Program } from "./support/program.mjs";
import { explain, say, timed } from "./support/report.mjs";
import { ADDRESS, installOn, startWorkers } from "./support/two-workers.mjs";
import { makeBridge } from "./support/worker.mjs";

const [folder, bin, cgroup, names, focus = ""] = process.argv.slice(2);
const DRIVER = join(ROOT, "deploy/e2e-driver.yaml");
const left = leftOut(bin);
const images = names.split(",").map((name) => join(folder, name));

/** Runs the specs whose name has `focus`; returns the file of the report. Three at once: most of the time they wait. */
async function runSuite(cluster) {
  const out = join(cluster.logs, "suite");
  await mkdir(out);
  const without = left.flatMap(([pattern]) => ["--skip", pattern]);
  const program = new Program(
    "ginkgo",
    [
      ...[join(bin, "ginkgo"), "--procs=3", "--timeout=4h", "--no-color"],
      ...["--poll-progress-after=10m", "--json-report=report.json", `--output-dir=${out}`],
      ...["--focus", `External.Storage.*(${focus})`, ...without],
      ...[join(bin, "e2e.test"), "--", `--kubeconfig=${cluster.admin}`, "--provider=skeleton"],
      ...[`--repo-root=${ROOT}`, `--storage.testdriver=${DRIVER}`, "--dump-logs-on-failure=false"],
      ...[`--e2e-output-dir=${out}`, `--report-dir=${out}`],
    ],
    { log: join(cluster.logs, "suite.log") },
  ).start();
  await program.ended();
  return join(out, "report.json");
}

await furnish(folder, { hostname: "control-plane", addresses: [SERVICE_ADDRESS] });
await makeBridge(ADDRESS);
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: ADDRESS }));
const kube = new Kube(cluster);
try {
  await timed("two nodes", () => startWorkers(cluster, { home: folder, bin, images, cgroup }));
  await timed("install", () => installOn(kube, helmOf(cluster), ["node.pool.size=20Gi"]));
  const before = await containers(kube);
  const report = await timed("Kubernetes' storage tests", () => runSuite(cluster));
  const results = await readReport(report, left);
  printReport(results, say);
  const all = async () => {
    if (results.failed.length > 0 || results.passed.length === 0) throw new Error("not all specs passed");
  };
  await timed("their results", all, focus === "" ? ["CSI-005"] : []);
  await timed("after them: nothing refused, no process ended, no volume left", async () => {
    const { refused } = await readAudit(cluster.audit);
    if (refused.length > 0) throw new Error(`refused:\n${refused.join("\n")}`);
    if ((await containers(kube)) !== before) throw new Error("a process of Mooring has ended");
    await nothingOfVolumes(kube);
  });
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
