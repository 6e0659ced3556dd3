import {
  GROUP_SNAPSHOT_GROUP,
  mutate,
  type ObjectStore,
  PersistentVolumes,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  waitFor,
} from "@mooring/store";
import { type RevertPhase, type VolumeGroupRevert, VolumeGroupReverts } from "../../../api/group-revert.ts";
import { DRIVER_NAME, MOORING_API_VERSION } from "../../../api/names.ts";

export const NAMESPACE = "shop";
const GROUP_API = `${GROUP_SNAPSHOT_GROUP}/v1`;

/** What the sidecars leave behind: `members` maps a volume to its snapshot; its claim is named `c-<volume>`. */
export async function groupSnapshot(
  store: ObjectStore,
  name: string,
  members: Readonly<Record<string, string>>,
  options: { driver?: string; claimNamespace?: string } = {},
): Promise<void> {
  const { driver = DRIVER_NAME, claimNamespace = NAMESPACE } = options;
  for (const handle of Object.keys(members)) await volumeOf(store, handle, claimNamespace);
  const content = `content-${name}`;
  const made = await store.create(VolumeGroupSnapshots, {
    ...{ apiVersion: GROUP_API, kind: "VolumeGroupSnapshot", metadata: { namespace: NAMESPACE, name } },
    spec: { source: { selector: { matchLabels: { app: "db" } } } },
  });
  await store.create(VolumeGroupSnapshotContents, {
    ...{ apiVersion: GROUP_API, kind: "VolumeGroupSnapshotContent", metadata: { name: content } },
    spec: {
      volumeGroupSnapshotRef: { namespace: NAMESPACE, name, uid: made.metadata.uid ?? "" },
      deletionPolicy: "Delete",
      driver,
      source: { volumeHandles: Object.keys(members) },
    },
  });
  const infos = Object.entries(members).map(([volumeHandle, snapshotHandle]) => ({
    volumeHandle,
    snapshotHandle,
  }));
  const status = { subresource: "status" } as const;
  const report = (object: { status?: object }) => {
    object.status = { readyToUse: true, volumeSnapshotInfoList: infos };
  };
  await mutate(store, VolumeGroupSnapshotContents, { name: content }, { change: report, ...status });
  const bind = (object: { status?: object }) => {
    object.status = { readyToUse: true, boundVolumeGroupSnapshotContentName: content };
  };
  await mutate(store, VolumeGroupSnapshots, { namespace: NAMESPACE, name }, { change: bind, ...status });
}

async function volumeOf(store: ObjectStore, handle: string, namespace: string): Promise<void> {
  await store
    .create(PersistentVolumes, {
      ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: `pv-${handle}` } },
      spec: {
        csi: { driver: DRIVER_NAME, volumeHandle: handle },
        claimRef: { namespace, name: `c-${handle}` },
      },
    })
    .catch(() => undefined);
}

export function createRevert(store: ObjectStore, name: string, from: string): Promise<VolumeGroupRevert> {
  return store.create(VolumeGroupReverts, {
    ...{
      apiVersion: MOORING_API_VERSION,
      kind: "VolumeGroupRevert",
      metadata: { namespace: NAMESPACE, name },
    },
    spec: { source: { volumeGroupSnapshotName: from } },
  });
}

/** Resolves once it is in the phase and more is true; fails after a minute with what it was last. */
export async function revertIn(
  store: ObjectStore,
  name: string,
  phase: RevertPhase,
  more: (revert: VolumeGroupRevert) => boolean = () => true,
): Promise<VolumeGroupRevert> {
  const key = { namespace: NAMESPACE, name };
  const test = (r: VolumeGroupRevert | undefined) => r?.status?.phase === phase && more(r);
  try {
    const found = await waitFor(
      store,
      { resource: VolumeGroupReverts, key },
      test,
      AbortSignal.timeout(90_000),
    );
    if (found === undefined) throw new Error("gone");
    return found;
  } catch (cause) {
    const last = await store.get(VolumeGroupReverts, key).catch(String);
    throw new Error(`the revert did not come to ${phase}: ${JSON.stringify(last)}`, { cause });
  }
}
