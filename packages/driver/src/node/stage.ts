import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import {
  deviceOn,
  EngineError,
  forgetIntention,
  growOnline,
  intendFilesystem,
  isReadOnly,
  isServed,
  type MountEntry,
  mountOptions,
  type Prepared,
  prepareFilesystem,
  recordFormatted,
  setDeviceReadOnly,
  type Volume,
} from "@mooring/engine";
import { failpoint, sha256 } from "@mooring/store";
import { getVolume } from "../objects/find.ts";
import { requireLimitsHere } from "../objects/io-limits.ts";
import { requireWritersNotHeld } from "../objects/writers-not-held.ts";
import {
  accessOf,
  type Capability,
  isReadOnlyUse,
  parseCapability,
  requireCapability,
} from "../request/capability.ts";
import { bindFlags, bindFlagsAmong, checkMountFlags } from "../request/mount-flags.ts";
import { type AttachedVolume, type NodeContext, withAttached } from "./context.ts";
import { dropDamaged } from "./drop-damaged.ts";
import { isMountOfFolder, kindOf, makeTarget, parsePath, requireFree } from "./mount-points.ts";
import { mountedTargets } from "./published.ts";
import type { StageRecord } from "./records.ts";
import { noteRemounted } from "./remounted.ts";
import { isMountOfShare, mountShare, type ShareSource, shareSource } from "./share.ts";
import { applyTuning, discardOption } from "./tuning.ts";

const recorded = failpoint("driver/stage/recorded");
const targetMade = failpoint("driver/stage/target-made");
const mounted = failpoint("driver/stage/mounted");
const grown = failpoint("driver/stage/grown");

/** What counts of the request; a publication has it as well. */
type StageRequest = Pick<
  v1.NodeStageVolumeRequest,
  "volumeId" | "stagingTargetPath" | "volumeCapability" | "publishContext"
>;

/**
 * NodeStageVolume: file system made once, checked, grown to the device, mounted. A block volume has nothing to mount:
 * staging only records that the device is in use.
 */
export function stageVolume(node: NodeContext, request: StageRequest, call: CallContext) {
  return node.tuning.run(request.volumeId, () => stage(node, request, call));
}

async function stage(node: NodeContext, request: StageRequest, { signal }: CallContext) {
  const path = parsePath(request.stagingTargetPath, "staging_target_path");
  const capability = parseCapability(request.volumeCapability, "volume_capability");
  const flags = checkMountFlags(capability.mount?.flags ?? []);
  const volume = await getVolume(node.store, request.volumeId, signal);
  requireCapability(volume, capability);
  await requireLimitsHere(node, volume);
  const readOnly = isReadOnlyUse(capability, request.publishContext);
  const wanted = stageRecord(path, capability, readOnly);
  await dropDamaged(node, volume.metadata.name);
  if (await isStaged(node, volume, wanted, flags)) return {};
  if (!readOnly) await requireWritersNotHeld(node.store, volume, signal);
  if (isServed(volume)) {
    // Asked before anything is noted: a node that cannot mount it has nothing to undo.
    const source = await shareSource(node, volume, signal);
    await stageShare(node, { volume, wanted }, { source, flags }, signal);
    return {};
  }
  return withAttached(node, volume, async (attached) => {
    if (attached.kind === "folder") bindFlags(flags);
    if (wanted.access === "mount") await requireFree(node, volume.metadata.name, path);
    const [made, prepared] = await noteAndPrepare(node, { volume, wanted, attached }, signal);
    if (wanted.access === "mount") {
      if (made) await makeTarget(path, "directory");
      targetMade();
      await mountAt(node, { volume, attached, prepared }, { path, flags, readOnly }, signal);
    } else if (attached.kind === "device") {
      await forgetIntention(node, volume, signal);
    } else {
      throw CsiError.invalidArgument("volumes of directory pools have no block device");
    }
    return {};
  });
}

async function stageShare(
  node: NodeContext,
  { volume, wanted }: { volume: Volume; wanted: StageRecord },
  { source, flags }: { source: ShareSource; flags: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const made = await note(node, volume, wanted);
  recorded();
  const { path, readOnly } = wanted;
  await requireFree(node, volume.metadata.name, path);
  await noteRemounted(node, volume, signal);
  if (made) await makeTarget(path, "directory");
  targetMade();
  await mountShare(node, source, { path, readOnly, flags }, signal).catch(badFlags(flags));
  mounted();
}

/** What a staging is remembered by. */
export function stageRecord(path: string, capability: Capability, readOnly: boolean): StageRecord {
  const fingerprint = sha256(JSON.stringify([path, capability.canonical, readOnly]));
  return { path, access: accessOf(capability), readOnly, arguments: fingerprint, made: false };
}

/** True when this very staging is done already. A record without its mount is unfinished work, which goes on. */
async function isStaged(
  node: NodeContext,
  volume: Volume,
  wanted: StageRecord,
  flags: readonly string[],
): Promise<boolean> {
  const present = (await node.records.findOf(volume))?.staged;
  if (present === undefined) return false;
  if (present.arguments === wanted.arguments)
    return wanted.access === "mount" && isMounted(node, volume, wanted, flags);
  if (!(await inUse(node, volume, present))) return false;
  if (present.path === wanted.path) {
    throw CsiError.alreadyExists(`the volume is staged at ${present.path} with another capability`, {
      hint: "Unstage it first.",
    });
  }
  throw CsiError.failedPrecondition(`the volume is staged at ${present.path} already`, {
    hint: "Unstage it there first.",
  });
}

async function isMounted(
  node: NodeContext,
  volume: Volume,
  wanted: StageRecord,
  flags: readonly string[],
): Promise<boolean> {
  const top = (await node.host.mounts.at(wanted.path)).at(-1);
  if (top === undefined || !(await isMountOf(volume, top)) || isReadOnly(top) !== wanted.readOnly)
    return false;
  if (isMountOfShare(volume.metadata.name, top)) return true;
  const isDevice = top.source === volume.status?.device;
  // Killed between the mount and the record of what it shows, which go on side by side.
  if (isDevice && volume.status?.formatted === undefined) return false;
  // What is bound gets its flags then: a kill may have come between the two.
  if (isServed(volume)) return bindFlagsAmong(flags).every((flag) => top.options.includes(flag));
  return isDevice || bindFlags(flags).every((flag) => top.options.includes(flag));
}

/** A block volume has no mount at its staging path: its record is all there is. */
async function inUse(node: NodeContext, volume: Volume, present: StageRecord): Promise<boolean> {
  if (present.access === "block") return deviceOn(volume, node.nodeID) !== undefined;
  return (await node.host.mounts.at(present.path)).length > 0;
}

/** True for a mount of the volume's device, or of its folder in a `directory` pool. */
async function isMountOf(volume: Volume, entry: MountEntry): Promise<boolean> {
  const device = volume.status?.device ?? "";
  return (
    isMountOfShare(volume.metadata.name, entry) ||
    (device !== "" && (entry.source === device || isMountOfFolder(volume.metadata.name, entry)))
  );
}

/** Notes the staging before anything is mounted. True when the directory is ours to make. */
async function note(node: NodeContext, volume: Volume, wanted: StageRecord): Promise<boolean> {
  const record = await node.records.of(volume);
  const again = record.staged?.path === wanted.path && record.staged.made;
  const made = wanted.access === "mount" && (again || (await kindOf(wanted.path)) === "missing");
  await node.records.put({ ...record, staged: { ...wanted, made } });
  return made;
}

interface ToMount {
  volume: Volume;
  attached: AttachedVolume;
  /** Absent where it is mounted already, and for folders. */
  prepared: Prepared | undefined;
}

interface ToStage {
  volume: Volume;
  wanted: StageRecord;
  attached: AttachedVolume;
}

/**
 * The record that the volume may be staged comes before its mount, not before its file system: that has a witness of its own,
 * the intention to make it. So both go on side by side, and after a kill either may be there without the other.
 */
async function noteAndPrepare(
  node: NodeContext,
  stage: ToStage,
  signal: AbortSignal,
): Promise<[made: boolean, prepared: Prepared | undefined]> {
  const known = await node.records.findOf(stage.volume);
  const published = known === undefined ? [] : await mountedTargets(node, known);
  const noting = note(node, stage.volume, stage.wanted).then((made) => {
    recorded();
    return made;
  });
  const preparing = prepare(node, stage, { isPublished: published.length > 0, signal });
  return Promise.all([noting, preparing]).finally(() => Promise.allSettled([noting, preparing]));
}

/** The device as it has to be, and its file system where that is to be mounted and is not yet. */
async function prepare(
  node: NodeContext,
  { volume, wanted, attached }: ToStage,
  { isPublished, signal }: { isPublished: boolean; signal: AbortSignal },
): Promise<Prepared | undefined> {
  const { path: device, kind } = attached;
  const isForMount = kind === "device" && wanted.access === "mount";
  const isBare = isForMount && volume.status?.formatted === undefined;
  const work = [
    isBare ? intendFilesystem(node, volume, device, signal) : undefined,
    tune(node, volume, attached),
    // A block volume has no mount here, but where it is published.
    isPublished ? undefined : noteRemounted(node, volume, signal),
  ] as const;
  const [found] = await Promise.all(work).finally(() => Promise.allSettled(work));
  if (!isForMount || (await node.host.mounts.at(wanted.path)).length > 0) return undefined;
  return prepareFilesystem(node, { volume, device, found }, signal);
}

async function tune(node: NodeContext, volume: Volume, attached: AttachedVolume): Promise<void> {
  await applyTuning(node, volume, attached);
  if (attached.kind === "device") await setDeviceReadOnly(node.host.exec, attached.path, false);
}

async function mountAt(
  node: NodeContext,
  { volume, attached, prepared }: ToMount,
  { path, flags, readOnly }: { path: string; flags: string[]; readOnly: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { mounts } = node.host;
  if (attached.kind === "folder") {
    await mounts.bind(attached.path, path, { readOnly, flags: bindFlags(flags) }, signal);
    mounted();
    return;
  }
  const device = attached.path;
  if (prepared !== undefined)
    await mountNew(node, { volume, device, prepared }, { path, flags, readOnly }, signal);
  const top = (await mounts.at(path)).at(-1);
  if (top === undefined || top.source !== device) {
    throw CsiError.failedPrecondition(`something else than the volume is mounted at ${path}`);
  }
  if (prepared === undefined) await recordFormatted(node, volume, top.fsType, signal);
  // A volume restored to a larger size, or grown while it was not in use.
  if (!readOnly) await growOnline(node, { device, mountPath: path, type: top.fsType });
  grown();
}

/** What it has is recorded beside the mount: no pod writes there before this call has returned, see {@link isMounted}. */
async function mountNew(
  node: NodeContext,
  { volume, device, prepared }: { volume: Volume; device: string; prepared: Prepared },
  { path, flags, readOnly }: { path: string; flags: string[]; readOnly: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { type, record } = prepared;
  const discard = discardOption(volume);
  // The caller's own flags come last: they win.
  const wanted = discard === undefined ? flags : [discard, ...flags];
  const options = mountOptions(prepared, wanted, readOnly);
  const mounting = node.host.mounts
    .mount({ source: device, target: path, fsType: type, options }, signal)
    .then(mounted, badFlags(flags));
  const work = [mounting, record()];
  await Promise.all(work).finally(() => Promise.allSettled(work));
}

/** A mount that fails with flags most likely fails because of them; the kernel does not report which. */
function badFlags(flags: readonly string[]): (error: unknown) => never {
  return (error) => {
    if (flags.length === 0 || !(error instanceof EngineError) || error.code !== "INTERNAL") throw error;
    throw CsiError.invalidArgument("the volume cannot be mounted with these mount_flags", {
      hint: "The kernel log (dmesg) names the one it does not know.",
      cause: error,
    });
  };
}
