import { mkdir, rmdir } from "node:fs/promises";
import { commandFailed, wasEnded } from "../exec.ts";
import type { Exec, ExecResult, Mounts } from "../host.ts";
import { FILESYSTEMS, type FilesystemType } from "./types.ts";

/** `unsafe`: more is broken than can be repaired without losing data. */
export interface RepairResult {
  outcome: "clean" | "repaired" | "unsafe";
  /** The last output of the tool, in one line. */
  report: string;
}

/** A file system that is to be checked and repaired. */
export interface FilesystemRepair {
  exec: Exec;
  mounts: Mounts;
  /** Not mounted anywhere. */
  device: string;
  type: FilesystemType;
  /** An operator accepts that files may be lost. */
  consent: boolean;
  /** A folder to be made for a moment, and to be mounted on. */
  scratch: string;
}

/**
 * Checks a file system after a failure. What is always safe is done: the journal is replayed, and ext4's `preen` repairs.
 * All else needs consent. Throws when a tool cannot do its work at all.
 */
export function repairFilesystem(request: FilesystemRepair): Promise<RepairResult> {
  return REPAIRS[request.type](request);
}

const REPAIRS: Readonly<Record<FilesystemType, (request: FilesystemRepair) => Promise<RepairResult>>> = {
  ext4: repairExt4,
  xfs: repairXfs,
  btrfs: repairBtrfs,
};

/** Throws when another process has ended the tool: it has found nothing, and no operator is to consent to a loss because of it. */
async function examine(exec: Exec, tool: string, args: readonly string[]): Promise<ExecResult> {
  const result = await exec.try(tool, args, { uninterruptible: true });
  if (wasEnded(result)) throw commandFailed(tool, args, result);
  return result;
}

/** e2fsck(8): 0 clean, 1 and 2 corrected, 4 and more: errors left. */
async function repairExt4({ exec, device, consent }: FilesystemRepair): Promise<RepairResult> {
  const preened = await examine(exec, "e2fsck", ["-f", "-p", device]);
  if (preened.exitCode === 0) return { outcome: "clean", report: lastLine(preened) };
  if (preened.exitCode === 1 || preened.exitCode === 2)
    return { outcome: "repaired", report: lastLine(preened) };
  if (!consent) return { outcome: "unsafe", report: finding(preened) };
  const forced = await examine(exec, "e2fsck", ["-f", "-y", device]);
  const repaired = forced.exitCode === 1 || forced.exitCode === 2 || forced.exitCode === 0;
  return { outcome: repaired ? "repaired" : "unsafe", report: finding(forced) };
}

/** XFS replays its log at mount; xfs_repair refuses before that, or throws the log away with a flag. */
async function repairXfs(request: FilesystemRepair): Promise<RepairResult> {
  const { exec, device, consent } = request;
  const replayed = await replay(request);
  const checked = await examine(exec, "xfs_repair", ["-n", device]);
  if (replayed && checked.exitCode === 0) return { outcome: "clean", report: finding(checked) };
  if (!consent)
    return { outcome: "unsafe", report: replayed ? finding(checked) : "the log cannot be replayed" };
  let repaired = await examine(exec, "xfs_repair", [device]);
  // What the kernel could not replay, or the tool cannot read: it is thrown away, as was consented to.
  if (repaired.exitCode === XFS_LOG_UNUSABLE) repaired = await examine(exec, "xfs_repair", ["-L", device]);
  return { outcome: repaired.exitCode === 0 ? "repaired" : "unsafe", report: finding(repaired) };
}

/** Exit code of xfs_repair: the log is dirty, or its ends are not found. */
const XFS_LOG_UNUSABLE = 2;

/** The other copies of the superblock have all that the first one did: putting one in its place loses nothing. */
async function repairBtrfs(request: FilesystemRepair): Promise<RepairResult> {
  const { exec, device, consent } = request;
  let replayed = await replay(request);
  let recovered = false;
  if (!replayed) {
    const { exitCode } = await examine(exec, "btrfs", ["rescue", "super-recover", "-y", device]);
    recovered = exitCode === SUPERBLOCK_RECOVERED;
    if (recovered) replayed = await replay(request);
  }
  const checked = await examine(exec, "btrfs", ["check", "--readonly", device]);
  if (replayed && checked.exitCode === 0) {
    return recovered
      ? { outcome: "repaired", report: "the superblock was bad, and was taken from its copy" }
      : { outcome: "clean", report: finding(checked) };
  }
  if (!consent) return { outcome: "unsafe", report: finding(checked) };
  const repaired = await examine(exec, "btrfs", ["check", "--repair", "--force", device]);
  return { outcome: repaired.exitCode === 0 ? "repaired" : "unsafe", report: finding(repaired) };
}

/** Exit code of `btrfs rescue super-recover`: there was a bad one, and now there is none. */
const SUPERBLOCK_RECOVERED = 2;

/** A mount and its end: what the journal promised is in place. False when the kernel refuses to mount. */
async function replay({ exec, mounts, device, type, scratch }: FilesystemRepair): Promise<boolean> {
  await mkdir(scratch, { recursive: true });
  // Left by a kill in between.
  await mounts.unmount(scratch);
  const options = FILESYSTEMS[type].mountOptions;
  const mounted = await mounts.mount({ source: device, target: scratch, fsType: type, options }).then(
    () => true,
    () => false,
  );
  await mounts.unmount(scratch);
  await rmdir(scratch);
  // The kernel's file systems write past the cache that the tools read through, which another process may keep alive.
  await exec.run("blockdev", ["--flushbufs", device]);
  return mounted;
}

/** The tools print their steps and numbers at the end of their output; their findings are somewhere before. */
function finding(result: ExecResult): string {
  const found = linesOf(result).find((line) =>
    /\b(bad|corrupt\w*|errors?|failed|inconsistency|invalid|mismatch)\b/i.test(line),
  );
  return found?.slice(0, MOST_CHARACTERS) ?? lastLine(result);
}

function lastLine(result: ExecResult): string {
  return linesOf(result).at(-1)?.slice(0, MOST_CHARACTERS) ?? "nothing to report";
}

function linesOf({ stdout, stderr }: ExecResult): string[] {
  const lines = `${stdout}\n${stderr}`.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}

const MOST_CHARACTERS = 300;
