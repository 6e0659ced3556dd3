// The first process of a machine of its own: a cluster with one node and a driver of others, `mooring controller` around that, and
// Kubernetes' own storage tests. `node driver-suite.mjs FOLDER BIN CGROUP SETTINGS`; settings are JSON: `driver`, its `program` where one
// is built, `images`, `focus`, `atOnce`.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { nothingOfVolumes } from "./flow/leave.mjs";
import { lateSpecsOf, leastPassedOf, reasonsOf } from "./suite/others.mjs";
import { countsOf, printReport, problemsOf } from "./suite/report.mjs";
import { runSuite, runWithTwoClasses } from "./suite/run.mjs";
import { ANY_DRIVERS, startAnyDriver, startControlling, volumesOf } from "./support/any-driver.mjs";
import { nothingRefused } from "./support/audit.mjs";
import { SERVICE_ADDRESS, startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish } from "./support/namespaces.mjs";
import { admit, startNode } from "./support/node.mjs";
import { until } from "./support/program.mjs";
import { explain, keepCounts, say, timed } from "./support/report.mjs";
import { attachedLoops, showLoop } from "./support/traces.mjs";

const [folder, bin, cgroup, settings] = process.argv.slice(2);
const { driver: which, program, images, focus, atOnce } = JSON.parse(settings);
const driver = ANY_DRIVERS[which];
const reasons = reasonsOf(which, bin);
const NODE = "worker-1";
const ADDRESS = "10.250.0.1";
const SUBNET = "10.244.1.0/24";

/** Kinds, and what `mooring controller` may do. */
async function install(kube) {
  await kube.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
  await kube.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=900s");
  await kube.kubectl("create", "namespace", "mooring");
  await kube.kubectl("apply", "-f", join(ROOT, "deploy/manifests/rbac.yaml"));
}

/** No object, no mount, nothing on the disk, and no loop device of a raw volume. */
async function nothingLeft(kube) {
  await nothingOfVolumes(kube);
  await until("the driver's volumes to be gone", async () => {
    assert.deepEqual(await volumesOf(driver), []);
    const loops = (await attachedLoops()).filter(({ file }) => file.includes(`${driver.volumes}/`));
    assert.deepEqual(loops.map(showLoop), []);
    return true;
  });
}

await furnish(folder, { hostname: NODE, addresses: [ADDRESS, SERVICE_ADDRESS] });
await mkdir("/var/lib/kubelet", { recursive: true });
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: ADDRESS }));
const kube = new Kube(cluster);
try {
  const node = await admit(cluster, { name: NODE, address: ADDRESS, subnet: SUBNET });
  const files = images.map((name) => join(folder, name));
  const { logs } = cluster;
  await timed("containerd and kubelet", () => startNode(node, { folder, logs, bin, images: files, cgroup }));
  await timed("install", () => install(kube));
  const running = await timed(`${driver.name} on the node`, () =>
    startAnyDriver(kube, driver, { node: NODE, program }),
  );
  const controller = await timed("mooring controller around it", () => startControlling(kube, driver));
  const file = `test/kubernetes/real/suite/drivers/${which}.yaml`;
  const without = reasons.left.map(([pattern]) => pattern);
  const specs = { bin, name: "suite", driver: join(ROOT, file), focus, without, reasons, atOnce };
  const late = lateSpecsOf(which);
  const results = await timed("Kubernetes' storage tests", () =>
    late === undefined ? runSuite(cluster, specs) : runWithTwoClasses(cluster, specs, late),
  );
  printReport(results, say);
  await keepCounts(countsOf(results));
  await timed("their results", async () => {
    const problems = problemsOf(results, focus === "" ? leastPassedOf(which, bin) : 1);
    if (problems.length > 0) throw new Error(problems.join("\n"));
  });
  await timed("after them: nothing refused, no process ended, no volume left", async () => {
    await nothingRefused(cluster);
    for (const each of [controller, running.child])
      if (!each.alive) throw new Error(`${each.name} has ended: see ${each.log}`);
    await nothingLeft(kube);
  });
  await timed("both end", async () => {
    assert.equal(await controller.end(), 0);
    await running.stop();
  });
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
