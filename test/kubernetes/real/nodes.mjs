// The first process of a machine of its own: a control plane, and beside it two machines that are its nodes, with Mooring by its
// chart and its image. `node nodes.mjs FOLDER BIN CGROUP IMAGE`, the image of the version before.
import { execFile } from "node:child_process";
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { detachedInUse } from "./flow/detached-in-use.mjs";
import { drains } from "./flow/drains.mjs";
import { revisionsExpire } from "./flow/expired-revisions.mjs";
import { leaveNodes } from "./flow/leave-nodes.mjs";
import { lostMachines } from "./flow/lost-machines.mjs";
import { uninstalledInUse } from "./flow/reinstall.mjs";
import { controlPlaneEnds, dataFolders, machinesProgramsEnd, processesEnd } from "./flow/restarts.mjs";
import { shares } from "./flow/shares.mjs";
import { shortTokens, tokens, tokensExpire } from "./flow/tokens.mjs";
import { bothAtOnce, placed, stays } from "./flow/two-nodes.mjs";
import { takeBack, upgrade } from "./flow/upgrades.mjs";
import { helmOf } from "./helm.mjs";
import { nothingRefused, requestsSoFar } from "./support/audit.mjs";
import { SERVICE_ADDRESS, startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish } from "./support/namespaces.mjs";
import { explain, timed } from "./support/report.mjs";
import { ADDRESS, installOn, startWorkers } from "./support/two-workers.mjs";
import { filesOfVersionBefore } from "./support/version-before.mjs";
import { makeBridge } from "./support/worker.mjs";

const execute = promisify(execFile);
const [folder, bin, cgroup, before] = process.argv.slice(2);
const images = ["mooring.tar", before, "busybox.tar"].map((name) => join(folder, name));

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

/** A pool that both nodes have, and a class for it. */
const sharedPool = (fast) => [
  ...["node.sharedPools[0].name=fast", `node.sharedPools[0].path=${fast}`],
  ...["storageClasses[0].name=mooring", "storageClasses[1].name=fast"],
  "storageClasses[1].parameters.pool=fast",
];

await furnish(folder, { hostname: "control-plane", addresses: [SERVICE_ADDRESS] });
await makeBridge(ADDRESS);
const fast = await sharedFolder();
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: ADDRESS }));
const kube = new Kube(cluster);
const helm = helmOf(cluster);
try {
  const workers = await timed("two nodes", () =>
    startWorkers(cluster, { home: folder, bin, images, cgroup }),
  );
  const values = ["node.pool.size=8Gi", "node.trustedNetworks[0]=10.250.0.0/24", ...sharedPool(fast)];
  const { chart } = filesOfVersionBefore(folder);
  await timed("install the version before", () => installOn(kube, helm, values, chart));
  await timed("volumes where their pods run", () => placed(kube), [
    ...["CSI-304", "K8S-016", "K8S-017", "K8S-018", "K8S-019", "K8S-022", "K8S-028", "K8S-031", "K8S-093"],
  ]);
  await timed("upgrade", () => upgrade(kube, helm, workers));
  await timed("back to the version before", () => takeBack(kube, helm, { workers, folder }));
  await timed("upgrade again", () => upgrade(kube, helm, workers));
  const ofThisVersion = await requestsSoFar(cluster);
  await timed("pods with short tokens", () => shortTokens(kube));
  const first = await tokens(kube);
  await timed("a pod stays where its volume is", () => stays(kube), ["CSI-052"]);
  await timed("a group on both nodes", () => bothAtOnce(kube));
  await timed("kill -9 of the control plane", () => controlPlaneEnds(kube, workers));
  await timed("kill -9 of Mooring's processes", () => processesEnd(kube, workers));
  await timed("kill -9 of kubelets and containerds", () => machinesProgramsEnd(kube, workers));
  await timed("revisions that expire", () => revisionsExpire(kube, workers));
  await timed("a volume for both nodes", () => shares(kube, workers), ["CSI-272"]);
  const data = await dataFolders(kube, workers);
  await timed("tokens that end", () => tokensExpire(kube, { first, data }));
  await timed("an attachment deleted under its pod", () => detachedInUse(kube, "left"));
  await timed("drains", () => drains(kube));
  await timed("lost machines", () => lostMachines(kube, workers));
  await nothingRefused(cluster, ofThisVersion);
  // Helm takes the roles away before the processes have ended: what they are refused then counts no more.
  const install = () => installOn(kube, helm, values);
  await timed("uninstalled while in use", () => uninstalledInUse(kube, helm, { workers, install }));
  await timed("uninstall", () => leaveNodes(kube, helm, { workers, fast }));
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
