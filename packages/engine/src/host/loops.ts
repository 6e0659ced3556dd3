import { realpath, stat } from "node:fs/promises";
import { KeyedLock } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { commandFailed } from "./exec.ts";
import type {
  AttachOptions,
  Clock,
  Exec,
  ExecResult,
  LoopAttachment,
  LoopDevice,
  LoopDevices,
  Mounts,
  SectorSize,
} from "./host.ts";
import { isWithoutDiscard, removeWithoutDiscard, takeOffDiscard } from "./loop-discard.ts";
import { absentOrFailing, LoopFinder } from "./loop-finder.ts";
import { isShownAs } from "./loop-index.ts";
import { clearDevice, limitSize } from "./loop-ioctls.ts";
import { usersOf, usersThatStay } from "./loop-users.ts";
import { FENCED_BYTES, readLoop, readLoops, type SysfsLoop } from "./sysfs-loops.ts";

/**
 * Explicit, because the kernel's own choice follows the backing file: a file that was ever reflinked gets 4096, and
 * a file system made on 512-byte sectors then refuses to mount (ENOSYS) after the volume's first snapshot.
 */
const LOOP_SECTOR_BYTES: SectorSize = 4096;
const ATTACH_ATTEMPTS = 8;
const GONE_TIMEOUT_MS = 5000;

/** What the devices are found, made and released with. */
interface LoopContext {
  exec: Exec;
  mounts: Mounts;
  clock: Clock;
  finder: LoopFinder;
  /** By the file's path: one after the other attaches it. */
  locks: KeyedLock;
}

/** Loop devices; what sysfs shows is true, whatever losetup's exit code is. */
export function createLoopDevices(exec: Exec, mounts: Mounts, clock: Clock): LoopDevices {
  const finder = new LoopFinder(exec, mounts, clock);
  const context: LoopContext = { exec, mounts, clock, finder, locks: new KeyedLock() };
  return {
    list: readLoops,
    at: async (device) => readLoop(deviceName(device)),
    find: (backingFile, options) => finder.find(backingFile, options),
    attach: (backingFile, options) => attach(context, backingFile, options),
    attachWithheld: (backingFile) => attachWithheld(context, backingFile),
    async fence(device) {
      deviceName(device.path);
      await limitSize(exec, device, FENCED_BYTES);
    },
    async restore(device) {
      deviceName(device.path);
      const isThere = await limitSize(exec, device, 0);
      if (!isThere) throw new EngineError("UNAVAILABLE", `${device.path} went away`);
    },
    detach: (device, options) => detach(context, device, options),
    users: (device) => usersOfLoop(context, device),
    async refresh(device) {
      await exec.run("losetup", ["--set-capacity", device]);
    },
  };
}

async function attach(
  context: LoopContext,
  backingFile: string,
  { readOnly = false, discard = true, sectorSize = LOOP_SECTOR_BYTES }: AttachOptions = {},
): Promise<LoopDevice> {
  const path = await attachable(backingFile);
  return context.locks.run(path, async () => {
    const device = await attachOnce(context, path, { readOnly, discard, sectorSize });
    if (!discard) await takeOffDiscard(deviceName(device.path));
    return device;
  });
}

async function attachOnce(
  { exec, clock, finder }: LoopContext,
  path: string,
  options: Required<AttachOptions>,
): Promise<LoopDevice> {
  const { readOnly, discard } = options;
  const usable = (loop: SysfsLoop) => requireUsable(loop, options);
  let last: ExecResult | undefined;
  for (let attempt = 0; attempt < ATTACH_ATTEMPTS; attempt++) {
    // A device that is newer than the picture is found by --nooverlap.
    const present = await finder.find(path, { recent: attempt === 0 });
    if (present !== undefined && !present.autoclear) return usable(present);
    // --nooverlap hands back a present device and takes its autoclear mark off.
    last = await exec.try("losetup", attachArgs(path, options));
    const shown = /^\/dev\/(loop\d+)$/m.exec(last.stdout)?.[1];
    if (shown !== undefined) await finder.learn(shown, path);
    const device = await finder.find(path, { recent: shown !== undefined });
    if (present === undefined && discard && shown !== undefined && (await dropStale(exec, shown))) continue;
    if (device !== undefined && !device.autoclear) {
      if (!device.readOnly || readOnly) return usable(device);
      // A mark that the device's last user has left on it.
      await makeWritable(exec, device.path);
      return usable({ ...device, readOnly: false });
    }
    // Another process took the free device, or the old one went away under us.
    await clock.sleep(10 * 2 ** attempt);
  }
  throw last === undefined
    ? new EngineError("UNAVAILABLE", `cannot attach ${path}`)
    : new EngineError("UNAVAILABLE", `cannot attach ${path} to a loop device: ${last.stderr.trim()}`, {
        cause: commandFailed("losetup", attachArgs(path, options), last),
      });
}

/** A killed process has left a number without discards. True: it has been given back. */
async function dropStale(exec: Exec, name: string): Promise<boolean> {
  if (!isWithoutDiscard(name)) return false;
  const device = await readLoop(name);
  if (device !== undefined) await clearDevice(exec, device);
  await removeWithoutDiscard(exec, name);
  return true;
}

async function attachWithheld(
  { exec, finder, locks }: LoopContext,
  backingFile: string,
): Promise<LoopDevice> {
  const path = await attachable(backingFile);
  return locks.run(path, async () => {
    const present = await finder.find(path);
    if (present !== undefined && !present.autoclear) return present;
    const { stdout } = await exec.run("losetup", withheldArgs(path));
    const name = /^\/dev\/(loop\d+)$/m.exec(stdout)?.[1] ?? "";
    await finder.learn(name, path);
    const loop = name === "" ? undefined : await readLoop(name);
    if (loop !== undefined) return loop;
    throw new EngineError("UNAVAILABLE", `cannot attach ${path}: losetup printed ${stdout.trim()}`);
  });
}

async function usersOfLoop({ mounts }: LoopContext, device: string): Promise<string[]> {
  return (await readLoop(deviceName(device))) === undefined ? [] : usersOf(device, mounts);
}

/**
 * `blockdev --setro` marks the device, not the attachment: the mark would hit the next user of the number, which may
 * be another volume, or another program.
 */
async function makeWritable(exec: Exec, device: string): Promise<void> {
  await exec.run("blockdev", ["--setrw", device]);
}

async function detach(
  context: LoopContext,
  device: LoopAttachment,
  options: { lastUser?: boolean } | undefined,
): Promise<void> {
  const { exec, clock } = context;
  const { path } = device;
  const before = await readLoop(deviceName(path));
  if (before === undefined || !isStill(before, device)) return;
  const users = () => usersOfLoop(context, path);
  const present = options?.lastUser ? await users() : await usersThatStay(users, clock);
  // The kernel only marks a mounted device, without an error; so no mount or process may use it here.
  if (present.length > 0 && !options?.lastUser) throw inUse(path, present);
  if (before.readOnly && present.length === 0) await makeWritable(exec, path);
  const result = await clearDevice(exec, before);
  if (options?.lastUser) return;
  await untilDetached(clock, before, result);
  await removeWithoutDiscard(exec, deviceName(path));
}

async function untilDetached(clock: Clock, before: SysfsLoop, result: ExecResult): Promise<void> {
  const deadline = clock.sinceBoot() + GONE_TIMEOUT_MS;
  for (let wait = 2; ; wait = Math.min(wait * 2, 100)) {
    const now = await readLoop(deviceName(before.path));
    if (now === undefined || !isStill(now, before)) return;
    if (clock.sinceBoot() > deadline) {
      const why = result.stderr.trim() || "a process has it open";
      throw inUse(before.path, [why]);
    }
    await clock.sleep(wait);
  }
}

function attachArgs(path: string, { readOnly, sectorSize }: Required<AttachOptions>): string[] {
  const sector = ["--sector-size", String(sectorSize)];
  const mode = readOnly ? ["--read-only"] : [];
  return ["--find", "--show", "--nooverlap", "--direct-io=on", ...sector, ...mode, path];
}

/** Without --nooverlap: where two nodes are one machine, the other one has a device of the same file. */
function withheldArgs(path: string): string[] {
  const sizes = ["--sector-size", String(LOOP_SECTOR_BYTES), "--sizelimit", String(FENCED_BYTES)];
  return ["--find", "--show", "--direct-io=on", ...sizes, path];
}

/**
 * Only whole sectors of a regular file become a device: the kernel would silently leave the rest out. Another device has
 * whole sectors only, and its own size.
 */
async function attachable(file: string): Promise<string> {
  const path = await realpath(file).catch(() => undefined);
  const info = path === undefined ? undefined : await stat(path).catch(absentOrFailing);
  if (info === "failing") throw new EngineError("UNAVAILABLE", `the file system of ${file} has failed`);
  if (path === undefined || info === undefined)
    throw new EngineError("NOT_FOUND", `there is no image ${file}`);
  if (info.isBlockDevice()) return path;
  if (!info.isFile()) throw new EngineError("FAILED_PRECONDITION", `${path} is not a regular file`);
  if (info.size === 0 || info.size % LOOP_SECTOR_BYTES !== 0) {
    const message = `${path} has ${info.size} bytes, which is not a whole number of ${LOOP_SECTOR_BYTES}-byte sectors`;
    throw new EngineError("DATA_LOSS", message, {
      hint: "the image was truncated; restore it from a snapshot",
    });
  }
  return path;
}

function requireUsable(loop: SysfsLoop, { sectorSize }: Required<AttachOptions>): LoopDevice {
  if (loop.fenced) {
    const message = `${loop.path} of ${loop.backingFile} was fenced, and a process still has it open`;
    throw new EngineError("FAILED_PRECONDITION", message, { hint: "stop its workload and unmount it" });
  }
  if (loop.deleted) {
    const message = `${loop.path} still shows a removed file of the name ${loop.backingFile}`;
    throw new EngineError("FAILED_PRECONDITION", message, {
      hint: `if nothing uses it: losetup -d ${loop.path}`,
    });
  }
  if (loop.sectorSize === sectorSize) return loop;
  const message = `${loop.backingFile} is attached as ${loop.path} with ${loop.sectorSize}-byte sectors`;
  throw new EngineError("FAILED_PRECONDITION", message, { hint: `losetup -d ${loop.path}` });
}

/** Whether a device still has the attachment that is meant. Without numbers its file is all that tells them apart. */
function isStill(now: LoopAttachment, meant: LoopAttachment): boolean {
  if (now.sequence !== meant.sequence) return false;
  return now.sequence !== "" || isShownAs(now.backingFile, meant.backingFile);
}

function inUse(device: string, users: readonly string[]): EngineError {
  return new EngineError("FAILED_PRECONDITION", `${device} is in use: ${users.join(", ")}`, {
    hint: "stop the workload that uses it; it is detached then",
  });
}

function deviceName(device: string): string {
  const name = /^\/dev\/(loop\d+)$/.exec(device)?.[1];
  if (name === undefined) throw new EngineError("INVALID_ARGUMENT", `${device} is not a loop device`);
  return name;
}
