// The first process of a machine of its own: a control plane, and beside it two machines that are its nodes, with Mooring by its
// chart and its image. `node nodes.mjs FOLDER BIN CGROUP`.
import { execFile } from "node:child_process";
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CHART } from "../../../scripts/lib/manifests.mjs";
import { drains } from "./flow/drains.mjs";
import { leaveNodes } from "./flow/leave-nodes.mjs";
import { controlPlaneEnds, processesEnd } from "./flow/restarts.mjs";
import { bothAtOnce, placed, stays, WORKERS } from "./flow/two-nodes.mjs";
import { upgrades } from "./flow/upgrades.mjs";
import { helmOf } from "./helm.mjs";
import { readAudit } from "./support/audit.mjs";
import { SERVICE_ADDRESS, startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish } from "./support/namespaces.mjs";
import { admit } from "./support/node.mjs";
import { explain, timed } from "./support/report.mjs";
import { makeBridge, Worker } from "./support/worker.mjs";

const execute = promisify(execFile);
const [folder, bin, cgroup] = process.argv.slice(2);
const ADDRESS = "10.250.0.1";

/** What several machines see, as by a disk that all of them reach. */
async function sharedFolder() {
  const at = join(folder, "fast");
  const disk = join(folder, "disk");
  await mkdir(at);
  await mkdir(disk);
  const file = join(disk, "pool.img");
  await writeFile(file, "");
  await truncate(file, 4 * 2 ** 30);
  await execute("mkfs.xfs", ["-q", "-m", "reflink=1", file]);
  await execute("mount", ["-o", "loop", file, at]);
  return at;
}

async function startWorkers(cluster) {
  const images = ["mooring.tar", "busybox.tar"].map((name) => join(folder, name));
  const workers = [];
  for (const [index, name] of WORKERS.entries()) {
    const place = { name, address: `10.250.0.${11 + index}`, subnet: `10.244.${1 + index}.0/24` };
    const node = await admit(cluster, place);
    const worker = new Worker(node, { home: folder, logs: cluster.logs, bin, images, cgroup });
    await worker.plugIn(ADDRESS);
    workers.push(worker);
  }
  await Promise.all(workers.map((worker) => worker.start()));
  return workers;
}

/** As values.yaml has them, but for what a machine of a test cannot have. */
const values = (fast) => [
  ...["--set", "node.pool.size=8Gi"],
  ...["--set", `node.sharedPools[0].name=fast`, "--set", `node.sharedPools[0].path=${fast}`],
  ...["--set", "storageClasses[1].name=fast", "--set", "storageClasses[1].parameters.pool=fast"],
  ...["--set", "storageClasses[0].name=mooring"],
  // Both machines have one kernel, which shows files by their paths only.
  ...["--set", "node.extraArgs[0]=--state-dir=/var/lib/mooring/$(NODE_NAME)"],
];

async function install(kube, helm, fast) {
  await helm("install", "mooring", CHART, "--create-namespace", ...values(fast), "--wait", "--timeout=5m");
  for (const name of WORKERS)
    await kube.shows(`csinode/${name}`, "{.spec.drivers[*].name}", "csi.mooring.dev");
}

await furnish(folder, { hostname: "control-plane", addresses: [SERVICE_ADDRESS] });
await makeBridge(ADDRESS);
const fast = await sharedFolder();
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: ADDRESS }));
const kube = new Kube(cluster);
const helm = helmOf(cluster);
try {
  const workers = await timed("two nodes", () => startWorkers(cluster));
  await timed("install", () => install(kube, helm, fast));
  await timed("volumes where their pods run", () => placed(kube));
  await timed("a pod stays where its volume is", () => stays(kube));
  await timed("a group on both nodes", () => bothAtOnce(kube));
  await timed("drains", () => drains(kube));
  await timed("kill -9 of etcd and the API server", () => controlPlaneEnds(kube, workers));
  await timed("kill -9 of Mooring's processes", () => processesEnd(kube, workers));
  await timed("upgrade and back", () => upgrades(kube, helm, workers));
  const { refused } = await readAudit(cluster.auditLog);
  if (refused.length > 0) throw new Error(`refused:\n${refused.join("\n")}`);
  await timed("uninstall", () => leaveNodes(kube, helm, { workers, fast }));
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
