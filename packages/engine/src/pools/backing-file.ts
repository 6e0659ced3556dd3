import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { failpoint, requireKind, syncFolder } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { Host, LoopAttachment, LoopDevice } from "../host/host.ts";
import { mountFault } from "../host/mount-fault.ts";
import { mountedElsewhere } from "../host/mounted-elsewhere.ts";
import { filesystemSize, recordBacking, requireWhole } from "./backing-record.ts";
import { copiesOnWrite } from "./copies-on-write.ts";
import { resizeFile, syncFile, writeSparse } from "./durable.ts";
import { absent } from "./file-images.ts";
import type { PoolLayout } from "./layout.ts";
import type { PoolFault } from "./pool-fault.ts";
import { wholeSectors } from "./sectors.ts";

/** Size of a pool that is made on first use; its file is sparse. */
export const DEFAULT_POOL_BYTES: number = 20 * 1024 ** 3;

/** A pool file before its file system is whole. */
const HALF_MADE = "pool.img.new-";
const LET_GO_MS = 2000;

const afterFormat = failpoint("engine/pool/backing-formatted");
const afterRename = failpoint("engine/pool/backing-renamed");
const afterAttach = failpoint("engine/pool/backing-attached");
const afterMount = failpoint("engine/pool/backing-mounted");

/** What differs between the file systems that a pool can be on. */
export interface PoolFilesystem {
  type: "xfs" | "btrfs";
  mkfs: { tool: string; args: readonly string[] };
  mountOptions: readonly string[];
  /** Commands that repair one in a file, for the operator. */
  repair(file: string): string;
  grow(host: Host, mount: string): Promise<void>;
}

/**
 * The sparse file behind a pool, made when it is not there, attached and mounted. Every step reads first, so that it
 * can be repeated from wherever a killed process stopped.
 */
export async function openBacking(
  host: Host,
  layout: PoolLayout,
  fs: PoolFilesystem,
  size?: number,
): Promise<void> {
  const { backing } = layout;
  if (backing === undefined) throw new EngineError("INTERNAL", "a directory pool has no backing file");
  // What is mounted may have failed, and not even be read.
  if ((await host.mounts.at(backing.mount)).length === 0)
    requireKind({ path: backing.mount, kind: "folder", hint: "move it away: it is made anew" });
  await requireWhole(layout.folder, backing.file);
  await ensureFile(host, layout.folder, { file: backing.file, fs, size: size ?? DEFAULT_POOL_BYTES });
  const grown = await growFile(backing.file, size);
  await recordBacking(layout.folder, backing.file).catch(unlessFull);
  const device = await host.loops.attach(backing.file);
  afterAttach();
  if (grown || device.sizeBytes < (size ?? 0)) await host.loops.refresh(device.path);
  await mkdir(backing.mount, { recursive: true, mode: 0o700 }).catch(unlessShutDown);
  const options = fs.mountOptions;
  const request = { source: device.path, target: backing.mount, fsType: fs.type, options };
  await host.mounts.mount(request).catch(async (error: unknown) => {
    // A damaged file is tried again and again: between the attempts it keeps no device. One in use stays attached.
    await host.loops.detach(device).catch(() => {});
    throw asDamaged(error, backing.file, fs);
  });
  const fault = await backingFault(host, layout);
  // Until no process uses an image any more, there is nothing that could be done with it.
  if (fault !== undefined && fault.devices > 0) return;
  if (fault !== undefined) {
    // A file system that has given up (the disk below was full, say) works again after a new mount.
    await host.mounts.unmount(backing.mount);
    await host.mounts.mount(request);
    await requireNew(host, backing.mount);
  }
  await requireMounted(layout.folder, backing.mount);
  afterMount();
  // Also without news from the file: a kill may have come between its growth and the file system's.
  if (size !== undefined && (await isLarger(backing.file))) await fs.grow(host, backing.mount);
}

/** What mount(8) and the kernel say of a file system that they know, and cannot read. */
const DAMAGED = /wrong fs type|bad superblock|can't read superblock|Structure needs cleaning/i;

/** The file system of the pool is damaged: what repairs one. Other errors as they are. */
function asDamaged(error: unknown, file: string, { type, repair }: PoolFilesystem): unknown {
  if (!(error instanceof EngineError) || !DAMAGED.test(error.message)) return error;
  const message = `the ${type} file system in ${file} cannot be mounted, as it is damaged: ${error.message}`;
  return new EngineError("INTERNAL", message, {
    cause: error,
    hint: `stop Mooring, copy ${file}, repair it with: ${repair(file)}`,
  });
}

/** There is more in the file than in its file system. One that is as large as it may be is not grown: where writers are frozen that waits. */
async function isLarger(file: string): Promise<boolean> {
  return (await filesystemSize(file)) < (await lstat(file)).size;
}

/** The file of an open pool, its device and its file system. Each step may have been done before. */
export async function enlargeBacking(
  host: Host,
  { folder, backing }: PoolLayout,
  fs: PoolFilesystem,
  size: number,
): Promise<void> {
  if (backing === undefined) return;
  await growFile(backing.file, size);
  await recordBacking(folder, backing.file).catch(unlessFull);
  const device = await host.loops.find(backing.file);
  if (device === undefined) throw new EngineError("UNAVAILABLE", `${backing.file} has no device`);
  await host.loops.refresh(device.path);
  await fs.grow(host, backing.mount);
}

/** A file system that another process has mounted as well is not made anew by a mount. */
async function requireNew(host: Host, mount: string): Promise<void> {
  const top = (await host.mounts.at(mount)).at(-1);
  const message = top === undefined ? undefined : await mountFault(top);
  if (top === undefined || message === undefined) return;
  const others = await mountedElsewhere(top.device);
  const who = others.length === 0 ? "another process" : others.join(", ");
  throw new EngineError("UNAVAILABLE", `${message}, and ${who} has it in another mount namespace`, {
    hint: `end ${others.length === 0 ? "the process that has it mounted" : who}: then it is mounted anew`,
  });
}

/** Images must never be made in the bare folder, where the mounted pool would later hide them. */
async function requireMounted(folder: string, mount: string): Promise<void> {
  const [outside, inside] = await Promise.all([stat(folder), stat(mount)]);
  if (outside.dev === inside.dev) throw new EngineError("UNAVAILABLE", `${mount} is not mounted`);
}

/** What has become of the file system of an open pool; undefined while it works. */
export async function backingFault(
  host: Host,
  { backing, images }: PoolLayout,
): Promise<PoolFault | undefined> {
  const top = backing === undefined ? undefined : (await host.mounts.at(backing.mount)).at(-1);
  const message = top === undefined ? undefined : await mountFault(top);
  if (message === undefined) return undefined;
  const devices = await host.loops.list(images);
  const idle = await Promise.all(devices.map((device) => isIdle(host, device)));
  return { message, devices: devices.length, idle: idle.filter((each) => each).length };
}

/** Ours, and no process has it mounted. The same path in another mount namespace is another node's file. */
async function isIdle({ loops }: Host, { path, backingFile }: LoopDevice): Promise<boolean> {
  return (await loops.users(path)).length === 0 && (await loops.find(backingFile))?.path === path;
}

/** A full disk keeps no pool from opening: the head of its file system gives the size meanwhile, and the next open records it. */
function unlessFull(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") throw error;
}

function unlessShutDown(error: unknown): undefined {
  if (!(error instanceof Error && "code" in error && error.code === "EIO")) throw error;
}

async function ensureFile(
  host: Host,
  folder: string,
  { file, fs, size }: { file: string; fs: PoolFilesystem; size: number },
): Promise<void> {
  const present = await lstat(file).catch(absent);
  if (present?.isFile()) return;
  if (present !== undefined) throw new EngineError("FAILED_PRECONDITION", `${file} is not a regular file`);
  // Formatted under another name: `pool.img` exists only with a whole file system in it.
  await removeHalfMade(folder);
  const temporary = join(folder, `${HALF_MADE}${randomUUID().slice(0, 8)}`);
  await writeSparse(temporary, 0);
  if (await copiesOnWrite(folder)) await host.exec.run("chattr", ["+C", temporary]);
  await resizeFile(temporary, wholeSectors(size));
  await host.exec.run(fs.mkfs.tool, [...fs.mkfs.args, temporary], { uninterruptible: true });
  await syncFile(temporary);
  afterFormat();
  await rename(temporary, file);
  afterRename();
  await syncFolder(folder);
}

/** What killed processes left; an mkfs that still runs writes into its unlinked file and ends. */
export async function removeHalfMade(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(absent)) ?? [];
  const leftovers = names.filter((name) => name.startsWith(HALF_MADE));
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { force: true })));
}

/** A file that is no whole number of sectors, as earlier versions made some, becomes one: it gets no device else. */
async function growFile(file: string, size = 0): Promise<boolean> {
  const present = await lstat(file);
  const wanted = wholeSectors(Math.max(size, present.size));
  if (present.size >= wanted) return false;
  await resizeFile(file, wanted);
  return true;
}

/** Unmounts and detaches; what is not there is fine. */
export async function closeBacking(host: Host, layout: PoolLayout): Promise<void> {
  if (layout.backing === undefined) return;
  await host.mounts.unmount(layout.backing.mount);
  const device = await host.loops.find(layout.backing.file);
  if (device !== undefined) await detachUnused(host, device);
}

/**
 * A container that is just starting has copies of all mounts until it has changed its root. They usually go at once;
 * the device of one that stays goes with it.
 */
async function detachUnused(host: Host, device: LoopAttachment): Promise<void> {
  for (let wait = 10; wait < LET_GO_MS; wait *= 2) {
    if ((await host.loops.users(device.path)).length === 0) return host.loops.detach(device);
    await host.clock.sleep(wait);
  }
  await host.loops.detach(device, { lastUser: true });
}
