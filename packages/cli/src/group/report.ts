import { DRIVER_NAME, GroupSnapshots } from "@mooring/engine";
import { type VolumeGroupRestore, VolumeGroupRestores } from "@mooring/sidecars";
import {
  defined,
  type ObjectStore,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  type VolumeSnapshot,
  VolumeSnapshots,
} from "@mooring/store";
import { type Reading, read } from "../why/context.ts";

/** One member as operators ask for it. */
interface MemberReport {
  /** The source claim, where the snapshot names it. */
  claim: string;
  snapshot: string;
  ready: boolean;
  restoreSize: string;
}

/** The snapshot of a group on Mooring's own volumes. */
interface BarrierReport {
  method: string;
  startTime: string;
  endTime: string;
  pauseMilliseconds: number;
}

/** A group snapshot, with what belongs to it. */
export interface GroupReport {
  kind: "VolumeGroupSnapshot";
  namespace: string;
  name: string;
  ready: boolean;
  error?: string;
  creationTime?: string;
  /** When it was asked for, RFC 3339. */
  askedAt?: string;
  driver?: string;
  members: MemberReport[];
  /** Absent for other drivers, whose group snapshots we cannot see. */
  barrier?: BarrierReport;
  restores: { name: string; phase: string; message: string }[];
}

/** Members have their group as their owner, or, where an operator has made them, only in their status. */
function isMemberOf(snapshot: VolumeSnapshot, { metadata }: VolumeGroupSnapshot): boolean {
  const owner = snapshot.metadata.ownerReferences?.find(({ kind }) => kind === "VolumeGroupSnapshot");
  if (owner !== undefined) return owner.uid === metadata.uid;
  const here = snapshot.metadata.namespace === metadata.namespace;
  return here && snapshot.status?.volumeGroupSnapshotName === metadata.name;
}

function memberReport({ metadata, spec, status }: VolumeSnapshot): MemberReport {
  return {
    claim: spec.source.persistentVolumeClaimName ?? "",
    snapshot: metadata.name,
    ready: status?.readyToUse === true,
    restoreSize: status?.restoreSize ?? "",
  };
}

async function barrierOf(
  context: Reading,
  content: VolumeGroupSnapshotContent | undefined,
): Promise<BarrierReport | undefined> {
  const handle = content?.status?.volumeGroupSnapshotHandle;
  if (handle === undefined || content?.spec.driver !== DRIVER_NAME) return undefined;
  return (await read(context, GroupSnapshots, { name: handle }))?.status?.barrier;
}

/** All group snapshots of a namespace, or of all namespaces. */
export async function listGroups(store: ObjectStore, namespace: string | undefined): Promise<GroupReport[]> {
  const where = defined({ namespace });
  const [groups, snapshots, contents, restores] = await Promise.all([
    store.list(VolumeGroupSnapshots, where),
    store.list(VolumeSnapshots, where),
    store.list(VolumeGroupSnapshotContents),
    store.list(VolumeGroupRestores, where),
  ]);
  const known = { snapshots: snapshots.items, contents: contents.items, restores: restores.items };
  return Promise.all(groups.items.map((group) => reportOf({ store }, group, known)));
}

/** One group snapshot; throws NotFound. */
export async function showGroup(store: ObjectStore, namespace: string, name: string): Promise<GroupReport> {
  const group = await store.get(VolumeGroupSnapshots, { namespace, name });
  const [snapshots, contents, restores] = await Promise.all([
    store.list(VolumeSnapshots, { namespace }),
    store.list(VolumeGroupSnapshotContents),
    store.list(VolumeGroupRestores, { namespace }),
  ]);
  const known = { snapshots: snapshots.items, contents: contents.items, restores: restores.items };
  return reportOf({ store }, group, known);
}

interface Known {
  snapshots: readonly VolumeSnapshot[];
  contents: readonly VolumeGroupSnapshotContent[];
  restores: readonly VolumeGroupRestore[];
}

async function reportOf(
  context: Reading,
  group: VolumeGroupSnapshot,
  { snapshots, contents, restores }: Known,
): Promise<GroupReport> {
  const { name, namespace = "", creationTimestamp } = group.metadata;
  const { boundVolumeGroupSnapshotContentName, creationTime, error, readyToUse } = group.status ?? {};
  const content = contents.find(({ metadata }) => metadata.name === boundVolumeGroupSnapshotContentName);
  const barrier = await barrierOf(context, content);
  const mine = restores.filter(
    ({ metadata, spec }) => metadata.namespace === namespace && spec.source.volumeGroupSnapshotName === name,
  );
  return {
    kind: "VolumeGroupSnapshot",
    namespace,
    name,
    ready: readyToUse === true,
    ...defined({
      error: error?.message,
      creationTime,
      askedAt: creationTimestamp,
      driver: content?.spec.driver,
    }),
    members: snapshots
      .filter((snapshot) => isMemberOf(snapshot, group))
      .map(memberReport)
      .sort((a, b) => a.claim.localeCompare(b.claim)),
    ...defined({ barrier }),
    restores: mine.map(({ metadata, status }) => ({
      name: metadata.name,
      phase: status?.phase ?? "Waiting",
      message: status?.message ?? "",
    })),
  };
}
