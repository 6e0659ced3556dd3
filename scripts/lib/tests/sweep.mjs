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
/** Until the list of loop devices counts as one that does not come. */
const STUCK_MS = 10_000;
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
 * Of files below the folder, of those in `before`, and of files in file systems on those devices: where nothing of ours has such a
 * file system mounted any more, the kernel shows its files by a path that begins in it.
 */
async function loopsOf(folder, before = new Set()) {
  // Asked twice after each file, and most have none: the kernel's own list costs no process.
  if (before.size === 0 && !attachedFiles().some((file) => file.startsWith(`${folder}/`))) return [];
  const all = await readLoops();
  let added = all.filter((loop) => loop.file.startsWith(`${folder}/`) || before.has(loop.id));
  const found = [];
  while (added.length > 0) {
    found.push(...added);
    const numbers = new Set(added.map(({ path }) => `7:${path.slice("/dev/loop".length)}`));
    added = all.filter((loop) => !found.includes(loop) && numbers.has(loop.below));
  }
  return found.reverse();
}

/**
 * Ids of the loop devices of files below the folder as each mount namespace of its tests shows them. In a file system of btrfs or
 * FUSE whose last mount has gone with its namespace, nothing shows any more whose a file was: to be asked before
 * processes are ended.
 */
export async function loopIds(folder) {
  if (attachedFiles().length === 0) return new Set();
  const namespaces = new Map((await processesOf(folder)).map((pid) => [namespaceOf(pid), pid]));
  namespaces.delete(undefined);
  const seen = await Promise.all([...namespaces.values(), "self"].map(readLoops));
  const ours = seen.flat().filter(({ file }) => file.startsWith(`${folder}/`));
  return new Set(ours.map(({ id }) => id));
}

/** The kernel lists those devices that have a file; one that was there once stays for ever. */
function attachedFiles() {
  const names = readFileSync("/proc/partitions", "utf8").match(/\bloop\d+$/gm) ?? [];
  return names.map((name) => {
    try {
      return readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8").trim();
    } catch {
      return "";
    }
  });
}

/**
 * A device whose file a process serves, and that process waits for a cluster that has gone: whoever reads its size waits as well.
 * The sweep goes on to end that process, with which the waiting ends.
 */
async function stuck() {
  await sleep(STUCK_MS, undefined, { ref: false });
  return { stdout: "" };
}

/**
 * All that there are, by what a process sees: the device, its file and the number of the device that this is on, and an `id`, which
 * the same device of another file does not have.
 */
async function readLoops(pid = "self") {
  const inside = pid === "self" ? [] : ["nsenter", `--mount=/proc/${pid}/ns/mnt`];
  const columns = ["--list", "--json", "--output", "NAME,BACK-MAJ:MIN,BACK-INO,BACK-FILE"];
  const [program, ...args] = [...inside, "losetup", ...columns];
  // Without any it prints nothing.
  const { stdout } = await Promise.race([execute(program, args).catch(() => ({ stdout: "" })), stuck()]);
  const { loopdevices } = JSON.parse(stdout || '{ "loopdevices": [] }');
  return loopdevices.map(({ name, "back-maj:min": number, "back-ino": inode, "back-file": file }) => ({
    ...{ path: name, below: number?.trim(), file: file ?? "" },
    id: `${name} ${number?.trim()} ${inode}`,
  }));
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

/** Takes it all away, files included. `before`: {@link loopIds}, asked before some of its processes were ended. */
export async function sweep(folder, before = []) {
  const known = new Set(before);
  for (let round = 0; round < 50; round += 1) {
    for (const id of await loopIds(folder)) known.add(id);
    const pids = await processesOf(folder);
    for (const pid of pids) kill(pid);
    for (const target of await mountsOf(folder)) await execute("umount", ["-l", target]).catch(nothing);
    const loops = await loopsOf(folder, known);
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
