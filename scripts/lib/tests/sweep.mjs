// Takes away what tests have left: processes, mounts, loop devices and files, by the folder that was theirs.
// As a program, `sweep.mjs FOLDER`, it waits until its input ends, however that came about, and sweeps then.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
/** Every process of a test file has the file's folder in its environment, in this variable. */
export const FOLDER_VARIABLE = "MOORING_TEST_FOLDER";
const nothing = () => undefined;

const isBelow = (path, folder) => path === folder || path.startsWith(`${folder}/`);

/**
 * Processes of the tests whose folder is this one or below it. All processes are asked twice after each file, so it has to
 * be cheap: one grep for all, which does not count those that have ended meanwhile.
 */
async function processesOf(folder) {
  const script = 'exec grep -lsF -e "$0" /proc/[0-9]*/environ';
  const marked = await execute("sh", ["-c", script, `${FOLDER_VARIABLE}=${folder}`]).catch((error) => error);
  const candidates = [...(marked.stdout ?? "").matchAll(/^\/proc\/(\d+)\//gm)].map(([, pid]) => pid);
  const ours = readlinkSync("/proc/self/ns/mnt");
  const apart = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && namespaceOf(name) !== ours);
  const found = await Promise.all([
    ...candidates.map(async (pid) => (await hasMark(pid, folder)) && pid),
    ...apart.map(async (pid) => (await seesMounts(pid, folder)) && pid),
  ]);
  const pids = new Set(found.filter((pid) => pid !== false).map(Number));
  pids.delete(process.pid);
  return [...pids];
}

/** The mount namespace; undefined when the process has ended. */
function namespaceOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return undefined;
  }
}

/** One that has ended, and for which its parent has not waited, has no environment any more. */
async function hasMark(pid, folder) {
  const variables = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  const mark = variables.split("\0").find((text) => text.startsWith(`${FOLDER_VARIABLE}=`));
  return mark !== undefined && isBelow(mark.slice(FOLDER_VARIABLE.length + 1), folder);
}

/** Containers get an environment of their own; they keep the mount namespace that a test was given, or a copy. */
async function seesMounts(pid, folder) {
  return (await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "")).includes(`${folder}/`);
}

/**
 * Of files below the folder, and of files in file systems on those devices: where nothing of ours has such a file system mounted any
 * more, the kernel shows its files by a path that begins in it.
 */
async function loopsOf(folder) {
  const all = attachedLoops();
  let added = all.filter(({ file }) => file.startsWith(`${folder}/`));
  if (added.length === 0) return [];
  const below = await devicesBelow();
  const found = [];
  while (added.length > 0) {
    found.push(...added);
    const devices = added.map(({ path }) => path);
    added = all.filter((loop) => !found.includes(loop) && devices.includes(below.get(loop.path)));
  }
  return found.reverse();
}

/** The kernel lists those that have a file; one that was there once stays for ever. */
function attachedLoops() {
  const names = [...readFileSync("/proc/partitions", "utf8").matchAll(/\bloop\d+$/gm)].map(([name]) => name);
  return names.map((name) => ({ path: `/dev/${name}`, file: backingFile(name).trim() }));
}

/** By loop device: the loop device that its file is on. */
async function devicesBelow() {
  const columns = ["--list", "--noheadings", "--output", "NAME,BACK-MAJ:MIN"];
  const { stdout } = await execute("losetup", columns).catch(() => ({ stdout: "" }));
  const lines = [...stdout.matchAll(/^(\S+) +7:(\d+) *$/gm)];
  return new Map(lines.map(([, path, minor]) => [path, `/dev/loop${minor}`]));
}

function backingFile(name) {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8");
  } catch {
    return "";
  }
}

/** Mounts that we see ourselves; those of a namespace end with its last process. */
export async function mountsOf(folder) {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  const targets = lines.map((text) => (text.split(" ")[4] ?? "").replaceAll("\\040", " "));
  return targets.filter((target) => isBelow(target, folder)).reverse();
}

/** Where Mooring keeps the bundles of containers, by state folder, until the machine ends: see runtime/run-folder.ts. */
const RUN = "/run/mooring";
const GROUPS = "/sys/fs/cgroup";

/** Those of state folders below the folder: a killed Mooring leaves them, and whoever starts a container reads all of them. */
async function runFoldersOf(folder) {
  const paths = (await readdir(RUN).catch(() => [])).map((name) => join(RUN, name));
  const states = await Promise.all(paths.map(statesOf));
  return paths.filter(
    (_, at) => states[at].length > 0 && states[at].every((state) => isBelow(state, folder)),
  );
}

async function statesOf(runFolder) {
  try {
    return JSON.parse(await readFile(join(runFolder, "hidden"), "utf8"));
  } catch {
    return [];
  }
}

/** Control groups of containers, which have the name of the run folder in each hierarchy; the kernel keeps one with a process. */
async function removeGroups(name) {
  const hierarchies = (await readdir(GROUPS, { withFileTypes: true }).catch(() => [])).filter((entry) =>
    entry.isDirectory(),
  );
  for (const place of [GROUPS, ...hierarchies.map((entry) => join(GROUPS, entry.name))])
    await execute("find", [join(place, name), "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]).catch(
      nothing,
    );
}

/** What is there of the tests of a folder, for readers; its files do not count. */
export async function leftBehind(folder) {
  const commands = (await processesOf(folder)).map(async (pid) => {
    const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return `process ${pid}: ${words.replaceAll("\0", " ").trim()}`;
  });
  const mounts = (await mountsOf(folder)).map((target) => `mount ${target}`);
  const loops = (await loopsOf(folder)).map(({ path, file }) => `${path} of ${file}`);
  return [...(await Promise.all(commands)), ...mounts, ...loops];
}

/** Takes it all away, files included. */
export async function sweep(folder) {
  for (let round = 0; round < 50; round += 1) {
    const pids = await processesOf(folder);
    for (const pid of pids) kill(pid);
    for (const target of await mountsOf(folder)) await execute("umount", ["-l", target]).catch(nothing);
    const loops = await loopsOf(folder);
    for (const { path } of loops) await execute("losetup", ["-d", path]).catch(nothing);
    if (pids.length === 0 && loops.length === 0) break;
    await sleep(100);
  }
  for (const runFolder of await runFoldersOf(folder)) {
    await removeGroups(basename(runFolder));
    await remove(runFolder);
  }
  await remove(folder);
}

/** The files of a folder of which nothing else is left. What could not be unmounted is not ours to empty. */
export async function remove(folder) {
  await execute("rm", ["-rf", "--one-file-system", folder]).catch(nothing);
}

function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2];
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, nothing);
  process.stdin.resume();
  process.stdin.on("close", () => sweep(folder));
}
