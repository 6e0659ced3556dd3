import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { isServed, recordFormatted, setDeviceReadOnly, type Volume } from "@mooring/engine";
import { failpoint, sha256 } from "@mooring/store";
import { getVolume } from "../objects/find.ts";
import { requireWritersNotHeld } from "../objects/writers-not-held.ts";
import {
  accessOf,
  type Capability,
  isReadOnlyUse,
  parseCapability,
  requireCapability,
} from "../request/capability.ts";
import { attachedHere, type NodeContext } from "./context.ts";
import { requireWorkload } from "./io-limits/groups.ts";
import { kindOf, makeTarget, parsePath, removeTarget, requireFree } from "./mount-points.ts";
import { decidePublish } from "./publish-table.ts";
import { mountedTargets } from "./published.ts";
import type { NodeRecord, PublishRecord } from "./records.ts";
import { restageAfterFault } from "./restage.ts";
import { stageRecord, stageVolume } from "./stage.ts";

const recorded = failpoint("driver/publish/recorded");
const targetMade = failpoint("driver/publish/target-made");
const bound = failpoint("driver/publish/bound");

/** NodePublishVolume: a bind mount of the staged file system, or of the block device itself, at the target path. */
export async function publishOnNode(
  node: NodeContext,
  request: v1.NodePublishVolumeRequest,
  call: CallContext,
) {
  const { signal } = call;
  const target = parsePath(request.targetPath, "target_path");
  const capability = parseCapability(request.volumeCapability, "volume_capability");
  const volume = await getVolume(node.store, request.volumeId, signal);
  requireCapability(volume, capability);
  requireWorkload(volume, target);
  if (request.stagingTargetPath === "") {
    throw CsiError.failedPrecondition("staging_target_path is missing", {
      hint: "This driver has STAGE_UNSTAGE_VOLUME: call NodeStageVolume first and pass its path.",
    });
  }
  const staging = parsePath(request.stagingTargetPath, "staging_target_path");
  const known = await node.records.of(volume);
  const wanted = publishRecord(request, target, staging, capability);
  const mounted = await mountedTargets(node, known);
  const present = mounted.map((path) => ({ path, record: known.published[path] ?? wanted }));
  if (decidePublish(present, { path: target, record: wanted }) === "done") return {};
  if (!wanted.readOnly) await requireWritersNotHeld(node.store, volume, signal);
  const record = await restageAfterFault(node, {
    ...{ volume, record: known, mounted, signal },
    wanted: stageRecord(staging, capability, isReadOnlyUse(capability, request.publishContext)),
    stage: () => stageVolume(node, request, call),
  });
  const source = await stagedSource(node, volume, record, { staging, access: wanted.access, signal });
  await requireFree(node, volume.metadata.name, target);
  wanted.made = record.published[target]?.made === true || (await kindOf(target)) === "missing";
  await node.records.put({ ...record, published: { ...record.published, [target]: wanted } });
  recorded();
  await bindAt(node, { source, target }, wanted, signal);
  await node.ioLimits?.follow(volume);
  return {};
}

function publishRecord(
  request: v1.NodePublishVolumeRequest,
  target: string,
  staging: string,
  capability: Capability,
): PublishRecord {
  const { publishContext, volumeContext, readonly } = request;
  const { mode, canonical } = capability;
  const sorted = (map: Record<string, string>) => Object.entries(map).sort();
  // Every argument but the secrets counts.
  const all = [target, staging, canonical, readonly, sorted(publishContext), sorted(volumeContext)];
  return {
    access: accessOf(capability),
    readOnly: readonly || isReadOnlyUse(capability, publishContext),
    multiTarget: mode.multiTarget,
    arguments: sha256(JSON.stringify(all)),
    made: false,
  };
}

/** What is bound: the staging mount, or the device. Throws FAILED_PRECONDITION when the volume is not staged there. */
async function stagedSource(
  node: NodeContext,
  volume: Volume,
  record: NodeRecord,
  { staging, access, signal }: { staging: string; access: PublishRecord["access"]; signal: AbortSignal },
): Promise<string> {
  const staged = record.staged;
  if (staged?.path !== staging || staged.access !== access) {
    throw CsiError.failedPrecondition(`the volume is not staged for ${access} access at ${staging}`, {
      hint: "Call NodeStageVolume with this path first.",
    });
  }
  if (!isServed(volume)) {
    const { path, kind } = await attachedHere(node, volume);
    if (access === "block" && kind === "device") return path;
  }
  const top = (await node.host.mounts.at(staging)).at(-1);
  // A staging that was killed between the mount and its record, and is not repeated: a pod is about to write there.
  if (top !== undefined && top.source === volume.status?.device)
    await recordFormatted(node, volume, top.fsType, signal);
  if (top !== undefined) return staging;
  throw CsiError.failedPrecondition(`nothing is mounted at ${staging} any more`, {
    hint: "Call NodeStageVolume again.",
  });
}

async function bindAt(
  node: NodeContext,
  { source, target }: { source: string; target: string },
  wanted: PublishRecord,
  signal: AbortSignal,
): Promise<void> {
  const kind = wanted.access === "block" ? "file" : "directory";
  await makeTarget(target, kind);
  targetMade();
  try {
    // A read-only mount does not keep a pod from writing to a device node: that the device itself has to refuse.
    if (wanted.access === "block") await setDeviceReadOnly(node.host.exec, source, wanted.readOnly);
    await node.host.mounts.bind(source, target, { readOnly: wanted.readOnly }, signal);
  } catch (error) {
    if (wanted.made && (await node.host.mounts.at(target)).length === 0) await removeTarget(target);
    throw error;
  }
  bound();
}
