import { mkdir, rmdir } from "node:fs/promises";
import type { Exec, ExecResult, Mounts } from "../host.ts";
import { FILESYSTEMS, type FilesystemType } from "./types.ts";

/** `unsafe`: more is broken than can be mended without losing data. */
export interface Mended {
  outcome: "clean" | "repaired" | "unsafe";
  /** What the tool said last, in one line. */
  report: string;
}

export interface MendRequest {
  exec: Exec;
  mounts: Mounts;
  /** Not mounted anywhere. */
  device: string;
  type: FilesystemType;
  /** A person accepts that files may be lost. */
  consent: boolean;
  /** A folder to be made for a moment, and to be mounted on. */
  scratch: string;
}

/**
 * Checks a file system after a failure. What is always safe is done: the journal is replayed, and ext4's `preen` repairs.
 * All else needs consent. Throws when a tool cannot do its work at all.
 */
export function mendFilesystem(request: MendRequest): Promise<Mended> {
  return MENDERS[request.type](request);
}

const MENDERS: Readonly<Record<FilesystemType, (request: MendRequest) => Promise<Mended>>> = {
  ext4: mendExt4,
  xfs: mendXfs,
  btrfs: mendBtrfs,
};

const WHOLE = { uninterruptible: true } as const;

/** e2fsck(8): 0 clean, 1 and 2 corrected, 4 and more: errors left. */
async function mendExt4({ exec, device, consent }: MendRequest): Promise<Mended> {
  const preened = await exec.try("e2fsck", ["-f", "-p", device], WHOLE);
  if (preened.exitCode === 0) return { outcome: "clean", report: lastLine(preened) };
  if (preened.exitCode === 1 || preened.exitCode === 2)
    return { outcome: "repaired", report: lastLine(preened) };
  if (!consent) return { outcome: "unsafe", report: lastLine(preened) };
  const forced = await exec.try("e2fsck", ["-f", "-y", device], WHOLE);
  const mended = forced.exitCode === 1 || forced.exitCode === 2 || forced.exitCode === 0;
  return { outcome: mended ? "repaired" : "unsafe", report: lastLine(forced) };
}

/** XFS replays its log at mount; xfs_repair refuses before that, or throws the log away when it is told to. */
async function mendXfs(request: MendRequest): Promise<Mended> {
  const { exec, device, consent } = request;
  const replayed = await replay(request);
  const checked = await exec.try("xfs_repair", ["-n", device], WHOLE);
  if (replayed && checked.exitCode === 0) return { outcome: "clean", report: lastLine(checked) };
  if (!consent)
    return { outcome: "unsafe", report: replayed ? lastLine(checked) : "the log cannot be replayed" };
  const repaired = await exec.try("xfs_repair", replayed ? [device] : ["-L", device], WHOLE);
  return { outcome: repaired.exitCode === 0 ? "repaired" : "unsafe", report: lastLine(repaired) };
}

async function mendBtrfs(request: MendRequest): Promise<Mended> {
  const { exec, device, consent } = request;
  const replayed = await replay(request);
  const checked = await exec.try("btrfs", ["check", "--readonly", device], WHOLE);
  if (replayed && checked.exitCode === 0) return { outcome: "clean", report: lastLine(checked) };
  if (!consent) return { outcome: "unsafe", report: lastLine(checked) };
  const repaired = await exec.try("btrfs", ["check", "--repair", "--force", device], WHOLE);
  return { outcome: repaired.exitCode === 0 ? "repaired" : "unsafe", report: lastLine(repaired) };
}

/** A mount and its end: what the journal promised is in place. False when the kernel refuses to mount. */
async function replay({ mounts, device, type, scratch }: MendRequest): Promise<boolean> {
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
  return mounted;
}

function lastLine({ stdout, stderr }: ExecResult): string {
  const lines = `${stdout}\n${stderr}`.split("\n").map((line) => line.trim());
  return (
    lines
      .filter((line) => line !== "")
      .at(-1)
      ?.slice(0, 300) ?? "nothing to report"
  );
}
