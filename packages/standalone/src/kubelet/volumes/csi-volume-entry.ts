import { lstat, rmdir, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import type { Host } from "@mooring/engine";
import {
  type CSIDriver,
  defined,
  failpoint,
  KubeVolumeAttachments,
  type ObjectStore,
  PersistentVolumes,
  type Pod,
  unlessReadOnly,
} from "@mooring/store";
import { attachmentName } from "../../controllers/attach-detach/names.ts";
import type { ClusterView } from "../../controllers/cluster-view.ts";
import { volumeCapability } from "../csi/capability.ts";
import type { Drivers } from "../csi/drivers.ts";
import { readSecret } from "../csi/secrets.ts";
import type { KubeletPaths } from "../paths.ts";
import { inlineVolume, requireEphemeral } from "./inline-volume.ts";
import { appliesGroup, takeOwnership } from "./ownership.ts";
import { makeVolumeFolder, removeVolumeRecord, type VolumeRecord, writeVolumeRecord } from "./records.ts";
import type { PodTokens } from "./tokens.ts";

const passed = {
  stageRecorded: failpoint("standalone/kubelet/stage-recorded"),
  staged: failpoint("standalone/kubelet/staged"),
  publishRecorded: failpoint("standalone/kubelet/publish-recorded"),
  published: failpoint("standalone/kubelet/published"),
  unpublished: failpoint("standalone/kubelet/unpublished"),
  unstaged: failpoint("standalone/kubelet/unstaged"),
  expanded: failpoint("standalone/kubelet/expanded"),
};

/** What the calls for a volume are made with. */
export interface CsiVolumeContext {
  store: ObjectStore;
  view: ClusterView;
  host: Host;
  drivers: Drivers;
  paths: KubeletPaths;
  nodeName: string;
  tokens: PodTokens;
}

/** Calls of a driver's node service for one volume, with the folders and records around them. */
export async function stageVolume(
  context: CsiVolumeContext,
  record: VolumeRecord,
  needsAttach: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { store, drivers, paths } = context;
  const { driverName, volumeHandle, specVolID } = record;
  const driver = await drivers.get(driverName, signal);
  const volume = await store.get(PersistentVolumes, { name: specVolID }, signal);
  const publishContext = await attachedContext(context, record, needsAttach, signal);
  await writeVolumeRecord(paths.csiVolume(driverName, volumeHandle), record);
  passed.stageRecorded();
  if (!driver.stages) return;
  const stagingTargetPath = stagePath(paths, record);
  await makeVolumeFolder(stagingTargetPath);
  await driver.client.node.nodeStageVolume(
    {
      volumeId: volumeHandle,
      publishContext,
      stagingTargetPath,
      volumeCapability: volumeCapability(volume, driver),
      secrets: await readSecret(store, volume.spec?.csi?.nodeStageSecretRef),
      volumeContext: volume.spec?.csi?.volumeAttributes ?? {},
    },
    { signal },
  );
  passed.staged();
}

/** NodePublishVolume for one pod. */
export async function publishVolume(
  context: CsiVolumeContext,
  record: VolumeRecord,
  { use: { pod, readOnly }, needsAttach }: { use: { pod: Pod; readOnly: boolean }; needsAttach: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { store, view, drivers, paths } = context;
  const { driverName, volumeHandle, specVolID, volumeMode } = record;
  const uid = pod.metadata.uid ?? "";
  const driver = await drivers.get(driverName, signal);
  const described = view.drivers.get(driverName);
  const isInline = record.volumeLifecycleMode === "Ephemeral";
  if (isInline) requireEphemeral(driverName, described);
  const volume = isInline
    ? inlineVolume(pod, specVolID)
    : await store.get(PersistentVolumes, { name: specVolID }, signal);
  const publishContext = await attachedContext(context, record, needsAttach, signal);
  await writeVolumeRecord(paths.publication(uid, specVolID), record);
  passed.publishRecorded();
  const targetPath = paths.publishTarget(uid, specVolID, volumeMode === "Block");
  await makeVolumeFolder(dirname(targetPath));
  const podInfo = described?.spec?.podInfoOnMount === true ? podInfoOf(pod, isInline) : {};
  const tokens = await tokensFor(context, pod, described);
  const inSecrets = described?.spec?.serviceAccountTokenInSecrets === true;
  const group = pod.spec?.securityContext?.fsGroup;
  await driver.client.node.nodePublishVolume(
    {
      volumeId: volumeHandle,
      publishContext,
      stagingTargetPath: driver.stages && !isInline ? stagePath(paths, record) : "",
      targetPath,
      volumeCapability: volumeCapability(volume, driver, group),
      readonly: readOnly,
      secrets: {
        ...(await readSecret(store, volume.spec?.csi?.nodePublishSecretRef)),
        ...(inSecrets ? tokens : {}),
      },
      volumeContext: { ...volume.spec?.csi?.volumeAttributes, ...podInfo, ...(inSecrets ? {} : tokens) },
    },
    { signal },
  );
  if (group !== undefined && !driver.mountsGroup && !readOnly && volumeMode !== "Block") {
    const policy = described?.spec?.fsGroupPolicy;
    if (appliesGroup(policy, volume))
      await takeOwnership(targetPath, group, pod.spec?.securityContext?.fsGroupChangePolicy);
  }
  passed.published();
}

/** NodeUnpublishVolume for one pod, and removes what is left of the target. */
export async function unpublishVolume(
  { drivers, host, paths }: CsiVolumeContext,
  record: VolumeRecord,
  podUID: string,
  signal: AbortSignal,
): Promise<void> {
  const { driverName, volumeHandle, specVolID, volumeMode } = record;
  const driver = await drivers.get(driverName, signal);
  const block = volumeMode === "Block";
  const targetPath = paths.publishTarget(podUID, specVolID, block);
  await driver.client.node.nodeUnpublishVolume({ volumeId: volumeHandle, targetPath }, { signal });
  passed.unpublished();
  await removeTarget(host, targetPath);
  if (block) await rmdir(dirname(targetPath)).catch(() => {});
  await removeVolumeRecord(paths.publication(podUID, specVolID));
}

/** NodeUnstageVolume, once no pod has the volume any more. */
export async function unstageVolume(
  { drivers, host, paths }: CsiVolumeContext,
  record: VolumeRecord,
  signal: AbortSignal,
): Promise<void> {
  const { driverName, volumeHandle } = record;
  const driver = await drivers.get(driverName, signal);
  const stagingTargetPath = stagePath(paths, record);
  if (driver.stages) {
    await driver.client.node.nodeUnstageVolume({ volumeId: volumeHandle, stagingTargetPath }, { signal });
  }
  passed.unstaged();
  await removeTarget(host, stagingTargetPath);
  await removeVolumeRecord(paths.csiVolume(driverName, volumeHandle));
}

/** Asks the node side to take up the volume's new size. True when the driver had something to do for it. */
export async function expandOnNode(
  { store, drivers, paths }: CsiVolumeContext,
  record: VolumeRecord,
  { requiredBytes, publishedFor }: { requiredBytes: bigint; publishedFor: string | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const { driverName, volumeHandle, specVolID, volumeMode } = record;
  const driver = await drivers.get(driverName, signal);
  if (!driver.expands) return false;
  const volume = await store.get(PersistentVolumes, { name: specVolID }, signal);
  const staged = driver.stages ? stagePath(paths, record) : "";
  const published =
    publishedFor === undefined
      ? undefined
      : paths.publishTarget(publishedFor, specVolID, volumeMode === "Block");
  await driver.client.node.nodeExpandVolume(
    {
      volumeId: volumeHandle,
      volumePath: published ?? staged,
      capacityRange: { requiredBytes },
      stagingTargetPath: staged,
      volumeCapability: volumeCapability(volume, driver),
      secrets: await readSecret(store, volume.spec?.csi?.nodeExpandSecretRef),
    },
    { signal },
  );
  passed.expanded();
  return true;
}

function stagePath(
  paths: KubeletPaths,
  { driverName, volumeHandle, specVolID, volumeMode }: VolumeRecord,
): string {
  return paths.stageTarget(driverName, volumeHandle, specVolID, volumeMode === "Block");
}

/** What ControllerPublishVolume returned. The attachment is read from the store: a cached one may be gone by now. */
async function attachedContext(
  { store, nodeName }: CsiVolumeContext,
  { driverName, volumeHandle }: VolumeRecord,
  needsAttach: boolean,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (!needsAttach) return {};
  const name = attachmentName(volumeHandle, driverName, nodeName);
  const attachment = await store.get(KubeVolumeAttachments, { name }, signal);
  if (attachment.status?.attached !== true || attachment.metadata.deletionTimestamp !== undefined) {
    throw new Error(`volume attachment ${name} is not attached`);
  }
  return attachment.status.attachmentMetadata ?? {};
}

/** Tokens of the pod's account for the audiences that the driver asks for, as one JSON object. */
async function tokensFor(
  { tokens }: CsiVolumeContext,
  pod: Pod,
  described: CSIDriver | undefined,
): Promise<Record<string, string>> {
  const requests = described?.spec?.tokenRequests ?? [];
  if (requests.length === 0) return {};
  const made = requests.map(async ({ audience, expirationSeconds }) => {
    const { token, expires } = await tokens.issued(pod, {
      // The empty audience is the API server's own.
      ...(audience ? { audience } : {}),
      ...defined({ expirationSeconds }),
    });
    return [audience, { token, expirationTimestamp: expires.toISOString() }] as const;
  });
  const byAudience = Object.fromEntries(await Promise.all(made));
  return { "csi.storage.k8s.io/serviceAccount.tokens": JSON.stringify(byAudience) };
}

function podInfoOf(pod: Pod, isInline: boolean): Record<string, string> {
  return {
    "csi.storage.k8s.io/pod.name": pod.metadata.name,
    "csi.storage.k8s.io/pod.namespace": pod.metadata.namespace ?? "",
    "csi.storage.k8s.io/pod.uid": pod.metadata.uid ?? "",
    "csi.storage.k8s.io/serviceAccount.name": pod.spec?.serviceAccountName ?? "",
    "csi.storage.k8s.io/ephemeral": String(isInline),
  };
}

/** Removes the target when mountinfo proves that it is unmounted, as the driver has reported, and only when it is empty. */
async function removeTarget(host: Host, target: string): Promise<void> {
  if ((await host.mounts.at(target)).length > 0)
    throw new Error(`${target} is still mounted although the driver has unpublished it`);
  const info = await lstat(target).catch(() => undefined);
  if (info === undefined) return;
  await (info.isDirectory() ? rmdir(target) : unlink(target)).catch(unlessReadOnly);
}
