// The first process of a machine of its own: a cluster with two nodes and Mooring, and Kubernetes' own storage tests on it.
// `node storage-suite.mjs FOLDER BIN CGROUP IMAGES AT-ONCE [FOCUS]`, so many specs at once.
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { nothingOfVolumes } from "./flow/leave.mjs";
import { containers } from "./flow/restarts.mjs";
import { helmOf } from "./helm.mjs";
import { AT_ONCE, LEAVE_THEMSELVES_OUT, leastPassed, leftOut } from "./suite/left-out.mjs";
import { countsOf, printReport, problemsOf } from "./suite/report.mjs";
import { runWithTwoClasses } from "./suite/run.mjs";
import { nothingRefused } from "./support/audit.mjs";
import { SERVICE_ADDRESS, startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish } from "./support/namespaces.mjs";
import { explain, keepCounts, say, timed } from "./support/report.mjs";
import { ADDRESS, installOn, startWorkers } from "./support/two-workers.mjs";
import { makeBridge } from "./support/worker.mjs";

const [folder, bin, cgroup, names, atOnce, focus = ""] = process.argv.slice(2);
const DRIVER = join(ROOT, "deploy/e2e-driver.yaml");
const left = leftOut(bin);
const images = names.split(",").map((name) => join(folder, name));

/** All specs with the chart's class, then those that need one as the API server makes it of which nothing is said: it binds at once. */
function runSpecs(cluster) {
  const without = left.map(([pattern]) => pattern);
  const reasons = { left, themselves: LEAVE_THEMSELVES_OUT };
  const specs = { bin, name: "suite", driver: DRIVER, focus, without, reasons, atOnce: Number(atOnce) };
  return runWithTwoClasses(cluster, specs, { text: AT_ONCE, StorageClass: { FromName: true } });
}

await furnish(folder, { hostname: "control-plane", addresses: [SERVICE_ADDRESS] });
await makeBridge(ADDRESS);
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: ADDRESS }));
const kube = new Kube(cluster);
try {
  const workers = await timed("two nodes", () =>
    startWorkers(cluster, { home: folder, bin, images, cgroup }),
  );
  await timed("install", () => installOn(kube, helmOf(cluster), ["node.pool.size=20Gi"]));
  const before = await containers(kube);
  const results = await timed("Kubernetes' storage tests", () => runSpecs(cluster));
  printReport(results, say);
  await keepCounts(countsOf(results));
  const all = async () => {
    const problems = problemsOf(results, focus === "" ? leastPassed(bin) : 1);
    if (problems.length > 0) throw new Error(problems.join("\n"));
  };
  await timed("their results", all, focus === "" ? ["CSI-005"] : []);
  await timed("after them: nothing refused, no process ended, no volume left", async () => {
    await nothingRefused(cluster);
    if ((await containers(kube)) !== before) throw new Error("a process of Mooring has ended");
    await nothingOfVolumes(kube, { machines: workers });
  });
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
