// What of Mooring can be seen on a machine: mounts, and loop devices. Several machines have one kernel here, and so one list of devices.
import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";

const execute = promisify(execFile);
const KUBELET = "/var/lib/kubelet";

/**
 * Where a kubelet mounts what CSI drivers have: staged, published and raw volumes, and folders in volumes. Most of these paths
 * name no driver; none but ours stays on these machines.
 */
const OF_VOLUMES = [
  "plugins/kubernetes\\.io/csi/",
  "pods/[^/]+/volumes/kubernetes\\.io~csi/",
  "pods/[^/]+/volumeDevices/kubernetes\\.io~csi/",
  "pods/[^/]+/volume-subpaths/",
];
const VOLUMES = new RegExp(`^${KUBELET}/(${OF_VOLUMES.join("|")})`);
const OWN = new RegExp(`^(/var/lib/mooring/|${KUBELET}/plugins/csi\\.mooring\\.dev/)`);
const POOL = /\/pool\.img( \(deleted\))?$/;
/** Kubelets attach a second device to each raw volume, and know by it that the volume is in use. */
const RAW = `${KUBELET}/plugins/kubernetes.io/csi/volumeDevices`;

/** Where it is mounted, of a line of a mountinfo. What others on this machine mount elsewhere is seen there as well. */
const placeOf = (line) => line.split(" ")[4] ?? "";

export const mountsOfVolumes = (lines) => lines.filter((line) => VOLUMES.test(placeOf(line)));
export const mountsOfMooring = (lines) =>
  lines.filter((line) => VOLUMES.test(placeOf(line)) || OWN.test(placeOf(line)));

/** The machine of this process, where Mooring has its folder at the usual place. */
export const HERE = {
  name: "this machine",
  stateFolder: "/var/lib/mooring",
  at: (path) => path,
  mounts: async () => (await readFile("/proc/self/mountinfo", "utf8")).split("\n"),
};

/**
 * All loop devices that have a file: `file` as the kernel shows it, `inode` of that, `number` of the device ("7:3"), and `on`, the
 * number of the device that the file is on.
 */
export async function attachedLoops() {
  const list = ["--list", "--json", "--output", "NAME,MAJ:MIN,BACK-FILE,BACK-INO,BACK-MAJ:MIN"];
  const { stdout } = await execute("losetup", list);
  const { loopdevices } = JSON.parse(stdout || '{"loopdevices":[]}');
  const text = (device, column) => String(device[column] ?? "").trim();
  return loopdevices.map((device) => ({
    ...{ name: device.name, file: text(device, "back-file"), inode: text(device, "back-ino") },
    ...{ number: text(device, "maj:min"), on: text(device, "back-maj:min") },
  }));
}

/** The number of the device that a folder is on, as `on` has it. */
export async function deviceOf(folder) {
  const { stdout } = await execute("findmnt", ["--noheadings", "--output", "MAJ:MIN", "--target", folder]);
  return stdout.trim();
}

const DELETED = / \(deleted\)$/;

/**
 * The path of a file below the folder. Where a mount is gone, as of a container that has ended, the kernel leaves the beginning out
 * of the path of what was opened in it.
 */
function pathBelow(folder, file) {
  const names = folder.split("/").slice(1);
  const ends = names.map((_, at) => `/${names.slice(at).join("/")}`);
  const end = ends.find((shown) => file.startsWith(`${shown}/`));
  return end === undefined ? undefined : folder + file.slice(end.length);
}

/**
 * Another machine's file may have the same path: what is not deleted is the file that is there on this one, and what was deleted in a
 * pool is where that pool is.
 */
async function isOn(machine, { file, inode, on }, pools) {
  for (const folder of [`${machine.stateFolder}/pools`, RAW]) {
    const path = pathBelow(folder, file.replace(DELETED, ""));
    if (path === undefined) continue;
    if (DELETED.test(file)) return !pools.has(on);
    const found = await stat(machine.at(path)).catch(() => undefined);
    if (found !== undefined && String(found.ino) === inode) return true;
  }
  return false;
}

/**
 * Of these loop devices those of the machine: of files in its pools, of files in file systems on such devices, however they are shown,
 * or on devices that are named besides by their numbers; and the kubelet's.
 */
export async function loopsOfMooring(loops, machine, besides = []) {
  const pools = new Set(loops.filter(({ file }) => POOL.test(file)).map(({ number }) => number));
  const own = await Promise.all(loops.map((loop) => isOn(machine, loop, pools)));
  const files = loops.filter((_, at) => own[at]);
  const numbers = new Set([...besides, ...files.map(({ number }) => number)]);
  return loops.filter((loop) => files.includes(loop) || numbers.has(loop.on));
}

/** The same without the pools themselves. */
export const loopsOfVolumes = async (loops, machine, besides) =>
  (await loopsOfMooring(loops, machine, besides)).filter(({ file }) => !POOL.test(file));

export const showLoop = ({ name, file }) => `${name} of ${file}`;
