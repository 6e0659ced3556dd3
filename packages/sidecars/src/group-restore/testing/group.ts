import {
  apiVersionOf,
  isAlreadyExists,
  type KubeObject,
  type ObjectStore,
  type Resource,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { type VolumeGroupRestore, VolumeGroupRestores } from "../../kube/group-restore.ts";
import { DRIVER, snapshotContent, volumeSnapshot } from "../../testing/objects.ts";
import type { MemberView } from "../view.ts";

/** A group snapshot `g` as the group-snapshot sidecar leaves it, for tests of what comes after it. */

export const GROUP_UID = "uid-g";
export const handleOf = (claim: string): string => `handle-${claim}`;

export function groupSnapshot(
  status: NonNullable<VolumeGroupSnapshot["status"]> = {},
  uid = GROUP_UID,
): VolumeGroupSnapshot {
  return {
    apiVersion: apiVersionOf(VolumeGroupSnapshots),
    kind: "VolumeGroupSnapshot",
    metadata: { name: "g", namespace: "default", uid },
    spec: { source: { selector: { matchLabels: { app: "db" } } } },
    status: { boundVolumeGroupSnapshotContentName: "groupcontent", readyToUse: true, ...status },
  };
}

export function groupContent(claims: readonly string[]): VolumeGroupSnapshotContent {
  const volumeSnapshotInfoList = claims.map((claim) => ({ snapshotHandle: handleOf(claim) }));
  return {
    apiVersion: apiVersionOf(VolumeGroupSnapshotContents),
    kind: "VolumeGroupSnapshotContent",
    metadata: { name: "groupcontent" },
    spec: {
      driver: DRIVER,
      deletionPolicy: "Delete",
      volumeGroupSnapshotRef: { name: "g", namespace: "default" },
      source: { volumeHandles: claims.map((claim) => `volume-${claim}`) },
    },
    status: { readyToUse: true, volumeSnapshotInfoList },
  };
}

export function member(claim: string, groupUid = GROUP_UID): MemberView {
  const owner = { apiVersion: apiVersionOf(VolumeGroupSnapshots), kind: "VolumeGroupSnapshot", name: "g" };
  const name = `member-${claim}`;
  const content = `content-${claim}`;
  return {
    snapshot: volumeSnapshot(
      name,
      { source: { persistentVolumeClaimName: claim } },
      { ownerReferences: [{ ...owner, uid: groupUid }] },
      { boundVolumeSnapshotContentName: content, readyToUse: true, restoreSize: "1Gi" },
    ),
    content: snapshotContent(
      content,
      {
        source: { snapshotHandle: handleOf(claim) },
        volumeSnapshotRef: { name, namespace: "default" },
        sourceVolumeMode: "Filesystem",
      },
      {},
      { snapshotHandle: handleOf(claim), readyToUse: true, restoreSize: 1024 ** 3 },
    ),
  };
}

export function groupRestore(
  spec: Partial<VolumeGroupRestore["spec"]> = {},
  name = "again",
): VolumeGroupRestore {
  return {
    apiVersion: apiVersionOf(VolumeGroupRestores),
    kind: "VolumeGroupRestore",
    metadata: { name, namespace: "default", uid: `uid-${name}`, generation: 1 },
    spec: { source: { volumeGroupSnapshotName: "g" }, ...spec },
  };
}

/** Stores an object with its status; the store gives it its uid. */
export async function put<T extends KubeObject & { status?: unknown }>(
  store: ObjectStore,
  resource: Resource<T>,
  object: T,
): Promise<T> {
  const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
  const { name, namespace } = metadata;
  const key = namespace === undefined ? { name } : { name, namespace };
  let stored: T;
  try {
    stored = await store.create(resource, { ...object, metadata });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    stored = await store.get(resource, key);
  }
  return object.status === undefined
    ? stored
    : store.patch(
        resource,
        key,
        { type: "merge", body: { status: object.status } },
        { subresource: "status" },
      );
}

/** The whole group snapshot, and its members. May be begun again after a crash. */
export async function putGroup(store: ObjectStore, claims: readonly string[]): Promise<void> {
  await put(store, VolumeGroupSnapshotContents, groupContent(claims));
  const group = await put(store, VolumeGroupSnapshots, groupSnapshot());
  for (const claim of claims) {
    const { snapshot, content } = member(claim, group.metadata.uid ?? "");
    const { uid = "" } = (await put(store, VolumeSnapshots, snapshot)).metadata;
    if (content === undefined) continue;
    const volumeSnapshotRef = { ...content.spec.volumeSnapshotRef, uid };
    await put(store, VolumeSnapshotContents, { ...content, spec: { ...content.spec, volumeSnapshotRef } });
  }
}
