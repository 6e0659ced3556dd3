import { stat } from "node:fs/promises";
import { defined, failpoint, mutate, type ObjectStore } from "@mooring/store";
import { isThickVolume, type Volume, Volumes } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import {
  checkFilesystem,
  FILESYSTEM_TYPES,
  FILESYSTEMS,
  type FilesystemType,
  growMounted,
  growUnmounted,
  hasOwnErrorPolicy,
  makeFilesystem,
  type ProbeResult,
  probe,
  probeEdges,
} from "../../host/filesystems.ts";
import type { Host } from "../../host/host.ts";

const intended = failpoint("engine/filesystem/format-intended");
const made = failpoint("engine/filesystem/formatted");
const recorded = failpoint("engine/filesystem/format-recorded");

/** What it takes to give a volume its file system. */
export interface FilesystemContext {
  store: ObjectStore;
  host: Host;
}

/** Set before the first mkfs of a volume: from here on, rubbish on the device is our own unfinished work. */
const FORMATTING = "storage.mooring.dev/formatting";

/** What is to be mounted, or made first. */
export interface Unmounted {
  volume: Volume;
  device: string;
  /** By {@link intendFilesystem}, a moment ago. */
  found?: ProbeResult | undefined;
}

/** A file system that can be mounted. */
export interface Prepared {
  type: FilesystemType;
  /** Mount options that it always gets. */
  options: readonly string[];
  /**
   * Has it recorded that the volume has its file system. May go on beside the mount, but has to end before a workload gets
   * that: what is recorded as never formatted is, when an mkfs of ours might have been interrupted, not known to be data.
   */
  record(): Promise<void>;
}

/**
 * The file system of a volume that is not mounted, made if it never had one. The order is: intention, mkfs, record,
 * use. No workload can have written through a mount before the record, so after a kill the steps up to it are safe to
 * repeat, and never after it.
 */
export async function prepareFilesystem(
  context: FilesystemContext,
  { volume, device, found }: Unmounted,
  signal: AbortSignal,
): Promise<Prepared> {
  const { exec } = context.host;
  const known = volume.status?.formatted;
  if (known === undefined) {
    const seen = found ?? (await intendFilesystem(context, volume, device, signal));
    const { type, adopted } = await format(context, { volume, device, found: seen }, signal);
    made();
    if (adopted) await checkFilesystem(exec, device, type, "preen");
    await growUnmounted(exec, device, type);
    const options = await ownOptions(device, type);
    return { type, options, record: () => recordFormatted(context, volume, type, signal) };
  }
  const type = supported(known);
  await makeFilesystem(exec, { device, type, formatted: known }, signal);
  await checkFilesystem(exec, device, type, "preen");
  await growUnmounted(exec, device, type);
  return { type, options: await ownOptions(device, type), record: async () => {} };
}

/** Records a file system that is there, before a workload writes into it. Nothing to do where that is recorded. */
export async function recordFormatted(
  { store }: FilesystemContext,
  { metadata: { name }, status }: Volume,
  type: string,
  signal: AbortSignal,
): Promise<void> {
  if (status?.formatted !== undefined) return;
  const change = (v: Volume) => {
    if (v.status !== undefined) v.status.formatted ??= type;
  };
  await mutate(store, Volumes, { name }, { change, subresource: "status", signal });
  recorded();
}

/**
 * Probes the device of a volume that has no recorded file system, and writes the intention to make one where it is empty.
 * The first part of {@link prepareFilesystem}, which may be begun earlier: it changes nothing on the device.
 */
export async function intendFilesystem(
  context: FilesystemContext,
  volume: Volume,
  device: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const intending = () => intend(context, volume, wantedType(volume), signal);
  // Only on an empty device: on any other the intention would declare a user's data to be our rubbish.
  if (await isUnwritten(context.host, device)) {
    // Not a block of it is written: the second witness may be heard while that goes to the disk.
    const work = [probeEdges(device), intending()] as const;
    const [edges] = await Promise.all(work).finally(() => Promise.allSettled(work));
    if (edges.kind !== "empty") await takeBack(context, volume, signal);
    return edges;
  }
  const found = await probe(context.host.exec, device, signal);
  if (found.kind === "empty") await intending();
  return found;
}

/**
 * Once more before it is written to, by the witness that costs less. What has come since the intention is somebody else's: the
 * intention goes, or the next try would take it for unfinished work of ours and discard it.
 */
async function stillEmpty(
  context: FilesystemContext,
  { volume, device }: Unmounted,
  signal: AbortSignal,
): Promise<ProbeResult> {
  if (await isUnwritten(context.host, device)) return { kind: "empty" };
  const edges = await probeEdges(device);
  if (edges.kind !== "empty") await takeBack(context, volume, signal);
  return edges;
}

/** Not one of an earlier try: the mkfs of that may still run, and what comes is its work. */
async function takeBack(context: FilesystemContext, volume: Volume, signal: AbortSignal): Promise<void> {
  if (volume.metadata.annotations?.[FORMATTING] === undefined)
    await intend(context, volume, undefined, signal);
}

/**
 * The image behind the device has not one block: nothing was ever written to it, which shows more than blkid, and costs no
 * process. False where the image is not known for sure.
 */
async function isUnwritten({ loops, mounts }: Host, device: string): Promise<boolean> {
  const loop = await loops.at(device).catch(() => undefined);
  if (loop === undefined || loop.deleted === true || loop.fenced === true) return false;
  // By its inode: the same path in another mount namespace is another file.
  const own = await loops.find(loop.backingFile, { recent: true });
  if (own?.path !== device) return false;
  // What a process shows as a file has the blocks that the process says.
  if ((await mounts.at(own.backingFile)).length > 0) return false;
  const { size, blocks } = await stat(own.backingFile);
  return size > 0 && blocks === 0;
}

async function format(
  context: FilesystemContext,
  { volume, device, found }: Unmounted & { found: ProbeResult },
  signal: AbortSignal,
): Promise<{ type: FilesystemType; adopted: boolean }> {
  const { exec } = context.host;
  const left = found.kind === "data" && volume.metadata.annotations?.[FORMATTING] !== undefined;
  const seen = left ? await discardLeft(context, volume, device, signal) : found;
  // A copy of a volume that its user formatted as a block device: it is theirs, so it is taken as it is.
  if (seen.kind === "filesystem" && volume.spec.source !== undefined && isSupported(seen.type))
    return { type: seen.type, adopted: true };
  const wanted = { device, type: wantedType(volume), formatted: undefined };
  const askAgain = seen.kind === "empty" ? () => stillEmpty(context, { volume, device }, signal) : undefined;
  const type = await makeFilesystem(exec, { ...wanted, ...defined({ askAgain }) }, signal);
  return { type, adopted: false };
}

/** An mkfs of ours was interrupted. A discarded image reads as zeros again; a running mkfs keeps the device to itself. */
async function discardLeft(
  context: FilesystemContext,
  volume: Volume,
  device: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const zeros = isThickVolume(volume) ? ["--zeroout"] : [];
  await context.host.exec.run("blkdiscard", [...zeros, device], { uninterruptible: true });
  return intendFilesystem(context, volume, device, signal);
}

function wantedType({ spec }: Volume): FilesystemType {
  return supported(spec.fsType ?? "xfs");
}

async function intend(
  context: FilesystemContext,
  volume: Volume,
  type: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await mutate(
    context.store,
    Volumes,
    { name: volume.metadata.name },
    {
      change: (v) => {
        const { [FORMATTING]: _, ...others } = v.metadata.annotations ?? {};
        v.metadata.annotations = type === undefined ? others : { ...others, [FORMATTING]: type };
      },
      signal,
    },
  );
  intended();
}

/** Before the device is handed out as it is: what is on it from now on is its user's, not our unfinished work. */
export async function forgetIntention(
  context: FilesystemContext,
  volume: Volume,
  signal: AbortSignal,
): Promise<void> {
  if (volume.metadata.annotations?.[FORMATTING] !== undefined)
    await intend(context, volume, undefined, signal);
}

/** After the mount; ext4 was grown before it. Also what NodeExpandVolume does while the volume is in use. */
export async function growOnline(
  context: FilesystemContext,
  at: { device: string; mountPath: string; type: string },
): Promise<void> {
  if (isSupported(at.type)) await growMounted(context.host.exec, { ...at, type: at.type });
}

/** An earlier user of the device may have made the file system: it must not decide what becomes of the machine. */
async function ownOptions(device: string, type: FilesystemType): Promise<string[]> {
  const own = FILESYSTEMS[type].mountOptions;
  return type === "ext4" && (await hasOwnErrorPolicy(device)) ? [...own, "errors=remount-ro"] : [...own];
}

/** Options that a file system always gets, then the caller's. */
export function mountOptions(
  { options }: Pick<Prepared, "options">,
  flags: readonly string[],
  readOnly: boolean,
): string[] {
  return [...new Set([...options, ...flags, ...(readOnly ? ["ro"] : [])])];
}

function isSupported(type: string): type is FilesystemType {
  return FILESYSTEM_TYPES.some((known) => known === type);
}

function supported(type: string): FilesystemType {
  if (isSupported(type)) return type;
  throw new EngineError("FAILED_PRECONDITION", `file system "${type}" is not supported`);
}
