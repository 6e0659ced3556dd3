import { failpoint, mutate, type ObjectStore } from "@mooring/store";
import { isThickVolume, type Volume, Volumes } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import {
  checkFilesystem,
  FILESYSTEM_TYPES,
  FILESYSTEMS,
  type FilesystemType,
  growMounted,
  growUnmounted,
  makeFilesystem,
  probe,
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

/**
 * The file system of a volume that is not mounted, made if it never had one. The order is: intention, mkfs, record,
 * mount. Nobody can have written through a mount before the record, so after a kill the steps up to it are safe to
 * repeat, and never after it.
 */
export async function prepareFilesystem(
  context: FilesystemContext,
  volume: Volume,
  device: string,
  signal: AbortSignal,
): Promise<FilesystemType> {
  const { exec } = context.host;
  const known = volume.status?.formatted;
  const type = known === undefined ? await format(context, volume, device, signal) : supported(known);
  if (known !== undefined) {
    await makeFilesystem(exec, { device, type, formatted: known }, signal);
    await checkFilesystem(exec, device, type, "preen");
  }
  await growUnmounted(exec, device, type);
  return type;
}

async function format(
  context: FilesystemContext,
  volume: Volume,
  device: string,
  signal: AbortSignal,
): Promise<FilesystemType> {
  const { exec } = context.host;
  const key = { name: volume.metadata.name };
  const wanted = supported(volume.spec.fsType ?? "xfs");
  let found = await probe(exec, device, signal);
  if (found.kind === "data" && volume.metadata.annotations?.[FORMATTING] !== undefined) {
    // An mkfs of ours was interrupted. A discarded image reads as zeros again; a running mkfs keeps the device to itself.
    const zeros = isThickVolume(volume) ? ["--zeroout"] : [];
    await exec.run("blkdiscard", [...zeros, device], { uninterruptible: true });
    found = await probe(exec, device, signal);
  }
  // A copy of a volume that its user formatted as a block device: it is theirs, so it is taken as it is.
  const theirs = found.kind === "filesystem" && volume.spec.source !== undefined && isSupported(found.type);
  const type = theirs && found.kind === "filesystem" ? supported(found.type) : wanted;
  // Only on an empty device: on any other the intention would declare somebody's data to be our rubbish.
  if (found.kind === "empty") await intend(context, volume, wanted, signal);
  const foundEmpty = found.kind === "empty";
  if (!theirs) await makeFilesystem(exec, { device, type, formatted: undefined, foundEmpty }, signal);
  made();
  const record = (v: Volume) => {
    if (v.status !== undefined) v.status.formatted = type;
  };
  await mutate(context.store, Volumes, key, { change: record, subresource: "status", signal });
  recorded();
  return type;
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

/** Options that a file system always gets, then the caller's. */
export function mountOptions(type: FilesystemType, flags: readonly string[], readOnly: boolean): string[] {
  return [...new Set([...FILESYSTEMS[type].mountOptions, ...flags, ...(readOnly ? ["ro"] : [])])];
}

function isSupported(type: string): type is FilesystemType {
  return FILESYSTEM_TYPES.some((known) => known === type);
}

function supported(type: string): FilesystemType {
  if (isSupported(type)) return type;
  throw new EngineError("FAILED_PRECONDITION", `file system "${type}" is not supported`);
}
