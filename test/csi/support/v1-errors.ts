import type { CsiClient } from "@mooring/csi";
import { capability, GIB, MIB } from "./volumes.ts";

/** What the calls of the table are about. Ids are those of objects that exist, but for those that say so. */
export interface Scene {
  /** On an XFS pool that promises no more than it has. */
  client: CsiClient;
  /** 16 MiB for mounts, staged, and published at `target`. */
  volume: string;
  staging: string;
  target: string;
  /** Does its work while the pool has less left than it keeps in reserve. */
  whenFull<T>(work: () => Promise<T>): Promise<T>;
  /** Two snapshots of `volume`. */
  earlier: string;
  later: string;
  /** One of another volume. */
  foreign: string;
  /** A group snapshot with name `group`, its volumes and its snapshots. */
  group: string;
  groupVolumes: readonly [string, string];
  members: readonly [string, string];
}

/** A row of an error table: method, condition, the code in its name. */
interface Condition {
  rpc: string;
  condition: string;
  code: string;
}

export interface Row extends Condition {
  call(scene: Scene): Promise<unknown>;
  /** The object that the message names. */
  names(scene: Scene): string;
  /** What to do, by its message. */
  next: RegExp;
}

/** A row that no call on one machine leads to, or not without holding something back, and why. */
export interface Elsewhere extends Condition {
  why: string;
}

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const NO_VOLUME = "v-00000000-0000-8000-a000-000000000000";
const NO_SNAPSHOT = "s-00000000-0000-8000-a000-000000000000";
const NO_GROUP = "g-00000000-0000-8000-a000-000000000000";
const LIST_VOLUMES = /ListVolumes/;
const LIST_SNAPSHOTS = /ListSnapshots/;
const small = { requiredBytes: 1n, limitBytes: MIB };

/** Section by section of CSI 1.13, as far as rows of docs/requirements.tsv do not prove them. */
export const ROWS: readonly Row[] = [
  {
    ...{ rpc: "ControllerGetVolume", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client }) => client.controller.controllerGetVolume({ volumeId: NO_VOLUME }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
  {
    ...{ rpc: "ControllerModifyVolume", condition: "Parameters not supported", code: "INVALID_ARGUMENT" },
    call: ({ client, volume }) =>
      client.controller.controllerModifyVolume({ volumeId: volume, mutableParameters: { colour: "red" } }),
    ...{ names: () => "colour", next: /Known: readAheadKiB/ },
  },
  {
    ...{ rpc: "ControllerModifyVolume", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client }) =>
      client.controller.controllerModifyVolume({
        ...{ volumeId: NO_VOLUME, mutableParameters: { readAheadKiB: "64" } },
      }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
  {
    ...{ rpc: "DeleteSnapshot", condition: "Snapshot is part of a group", code: "INVALID_ARGUMENT" },
    call: ({ client, members }) => client.controller.deleteSnapshot({ snapshotId: members[0] }),
    ...{ names: ({ group }) => group, next: /DeleteVolumeGroupSnapshot/ },
  },
  {
    ...{ rpc: "GetSnapshot", condition: "Snapshot does not exist", code: "NOT_FOUND" },
    call: ({ client }) => client.controller.getSnapshot({ snapshotId: NO_SNAPSHOT }),
    ...{ names: () => NO_SNAPSHOT, next: LIST_SNAPSHOTS },
  },
  {
    ...{ rpc: "ControllerExpandVolume", condition: "Exceeds capabilities", code: "INVALID_ARGUMENT" },
    call: ({ client, volume }) =>
      client.controller.controllerExpandVolume({
        ...{ volumeId: volume, capacityRange: { requiredBytes: 32n * MIB } },
        volumeCapability: capability({ access: "block" }),
      }),
    ...{ names: ({ volume }) => volume, next: /was made for/ },
  },
  {
    ...{ rpc: "ControllerExpandVolume", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client }) =>
      client.controller.controllerExpandVolume({
        ...{ volumeId: NO_VOLUME, capacityRange: { requiredBytes: 32n * MIB } },
      }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
  {
    ...{
      rpc: "ControllerExpandVolume",
      condition: "Unsupported `capacity_range`: too large",
      code: "OUT_OF_RANGE",
    },
    call: ({ client, volume }) =>
      client.controller.controllerExpandVolume({
        ...{ volumeId: volume, capacityRange: { requiredBytes: 1024n * GIB } },
      }),
    ...{ names: ({ volume }) => volume, next: /pool/ },
  },
  {
    ...{
      rpc: "ControllerExpandVolume",
      condition: "Unsupported `capacity_range`: smaller",
      code: "OUT_OF_RANGE",
    },
    call: ({ client, volume }) =>
      client.controller.controllerExpandVolume({ volumeId: volume, capacityRange: small }),
    ...{ names: ({ volume }) => volume, next: /never shrink/ },
  },
  {
    ...{ rpc: "NodeGetVolumeStats", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client, target }) => client.node.nodeGetVolumeStats({ volumeId: NO_VOLUME, volumePath: target }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
  {
    ...{ rpc: "NodeGetVolumeStats", condition: "Volume does not exist on the path", code: "NOT_FOUND" },
    call: ({ client, volume, target }) =>
      client.node.nodeGetVolumeStats({ volumeId: volume, volumePath: `${target}-other` }),
    ...{ names: ({ volume }) => volume, next: /staged or published at/ },
  },
  {
    ...{ rpc: "NodeExpandVolume", condition: "Exceeds capabilities", code: "INVALID_ARGUMENT" },
    call: ({ client, volume, target }) =>
      client.node.nodeExpandVolume({
        ...{ volumeId: volume, volumePath: target, volumeCapability: capability({ access: "block" }) },
      }),
    ...{ names: ({ volume }) => volume, next: /was made for/ },
  },
  {
    ...{ rpc: "NodeExpandVolume", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client, target }) => client.node.nodeExpandVolume({ volumeId: NO_VOLUME, volumePath: target }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
  {
    ...{ rpc: "NodeExpandVolume", condition: "Unsupported capacity_range: larger", code: "OUT_OF_RANGE" },
    call: ({ client, volume, target }) =>
      client.node.nodeExpandVolume({
        ...{ volumeId: volume, volumePath: target, capacityRange: { requiredBytes: GIB } },
      }),
    ...{ names: ({ volume }) => volume, next: /ControllerExpandVolume/ },
  },
  {
    ...{ rpc: "NodeExpandVolume", condition: "Unsupported capacity_range: smaller", code: "OUT_OF_RANGE" },
    call: ({ client, volume, target }) =>
      client.node.nodeExpandVolume({ volumeId: volume, volumePath: target, capacityRange: small }),
    ...{ names: ({ volume }) => volume, next: /never shrink/ },
  },
  {
    ...{ rpc: "CreateVolumeGroupSnapshot", condition: "Group snapshot already exists but is incompatible" },
    code: "ALREADY_EXISTS",
    call: ({ client, groupVolumes: [one] }) =>
      client.groupController.createVolumeGroupSnapshot({ name: "group", sourceVolumeIds: [one] }),
    ...{ names: () => "group", next: /another name/ },
  },
  {
    ...{ rpc: "CreateVolumeGroupSnapshot", condition: "Not enough space to create group snapshot" },
    code: "RESOURCE_EXHAUSTED",
    call: ({ client, groupVolumes, whenFull }) =>
      whenFull(() =>
        client.groupController.createVolumeGroupSnapshot({
          name: "full",
          sourceVolumeIds: [...groupVolumes],
        }),
      ),
    ...{ names: () => "MiB free", next: /[Dd]elete|larger/ },
  },
  {
    ...{ rpc: "DeleteVolumeGroupSnapshot", condition: "Snapshot list mismatch", code: "INVALID_ARGUMENT" },
    call: ({ client, group, members: [one] }) =>
      client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId: group, snapshotIds: [one] }),
    ...{ names: ({ group }) => group, next: /Name all members/ },
  },
  {
    ...{ rpc: "GetVolumeGroupSnapshot", condition: "Snapshot list mismatch", code: "INVALID_ARGUMENT" },
    call: ({ client, group, members, foreign }) =>
      client.groupController.getVolumeGroupSnapshot({
        ...{ groupSnapshotId: group, snapshotIds: [...members, foreign] },
      }),
    ...{ names: ({ foreign }) => foreign, next: /Name all members/ },
  },
  {
    ...{
      rpc: "GetVolumeGroupSnapshot",
      condition: "Volume group snapshot does not exist",
      code: "NOT_FOUND",
    },
    call: ({ client, members }) =>
      client.groupController.getVolumeGroupSnapshot({ groupSnapshotId: NO_GROUP, snapshotIds: [...members] }),
    ...{ names: () => NO_GROUP, next: LIST_SNAPSHOTS },
  },
  {
    ...{ rpc: "GetMetadataAllocated", condition: "Missing or otherwise invalid argument" },
    code: "INVALID_ARGUMENT",
    call: ({ client }) => drained(client.snapshotMetadata.getMetadataAllocated({ snapshotId: "" })),
    ...{ names: () => "snapshot_id", next: /required/ },
  },
  {
    ...{ rpc: "GetMetadataAllocated", condition: "Invalid `snapshot_id`", code: "NOT_FOUND" },
    call: ({ client }) => drained(client.snapshotMetadata.getMetadataAllocated({ snapshotId: NO_SNAPSHOT })),
    ...{ names: () => NO_SNAPSHOT, next: LIST_SNAPSHOTS },
  },
  {
    ...{ rpc: "GetMetadataAllocated", condition: "Invalid `starting_offset`", code: "OUT_OF_RANGE" },
    call: ({ client, later }) =>
      drained(client.snapshotMetadata.getMetadataAllocated({ snapshotId: later, startingOffset: GIB })),
    ...{ names: () => "starting_offset", next: /Begin at 0/ },
  },
  {
    ...{ rpc: "GetMetadataDelta", condition: "Missing or otherwise invalid argument: of two volumes" },
    code: "INVALID_ARGUMENT",
    call: ({ client, foreign, later }) =>
      drained(client.snapshotMetadata.getMetadataDelta({ baseSnapshotId: foreign, targetSnapshotId: later })),
    ...{ names: ({ foreign }) => foreign, next: /two snapshots of one volume/ },
  },
  {
    ...{ rpc: "GetMetadataDelta", condition: "Missing or otherwise invalid argument: the wrong way round" },
    code: "INVALID_ARGUMENT",
    call: ({ client, earlier, later }) =>
      drained(client.snapshotMetadata.getMetadataDelta({ baseSnapshotId: later, targetSnapshotId: earlier })),
    ...{ names: ({ earlier }) => earlier, next: /base is the earlier/ },
  },
  {
    ...{ rpc: "GetMetadataDelta", condition: "Invalid `base_snapshot_id`", code: "NOT_FOUND" },
    call: ({ client, later }) =>
      drained(
        client.snapshotMetadata.getMetadataDelta({ baseSnapshotId: NO_SNAPSHOT, targetSnapshotId: later }),
      ),
    ...{ names: () => NO_SNAPSHOT, next: LIST_SNAPSHOTS },
  },
  {
    ...{ rpc: "GetMetadataDelta", condition: "Invalid `target_snapshot_id`", code: "NOT_FOUND" },
    call: ({ client, earlier }) =>
      drained(
        client.snapshotMetadata.getMetadataDelta({ baseSnapshotId: earlier, targetSnapshotId: NO_SNAPSHOT }),
      ),
    ...{ names: () => NO_SNAPSHOT, next: LIST_SNAPSHOTS },
  },
  {
    ...{ rpc: "GetMetadataDelta", condition: "Invalid `starting_offset`", code: "OUT_OF_RANGE" },
    call: ({ client, earlier, later }) =>
      drained(
        client.snapshotMetadata.getMetadataDelta({
          ...{ baseSnapshotId: earlier, targetSnapshotId: later, startingOffset: GIB },
        }),
      ),
    ...{ names: () => "starting_offset", next: /Begin at 0/ },
  },
  {
    ...{ rpc: "ControllerGetVolumeHealth", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client }) => client.controller.controllerGetVolumeHealth({ volumeId: NO_VOLUME }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
  {
    ...{ rpc: "ControllerListVolumeHealth", condition: "Invalid `starting_token`", code: "ABORTED" },
    call: ({ client }) => client.controller.controllerListVolumeHealth({ startingToken: "none" }),
    ...{ names: () => "starting_token", next: /[Bb]egin|[Ss]tart|first/ },
  },
  {
    ...{ rpc: "NodeGetVolumeHealth", condition: "Volume does not exist", code: "NOT_FOUND" },
    call: ({ client }) => client.node.nodeGetVolumeHealth({ volumeId: NO_VOLUME }),
    ...{ names: () => NO_VOLUME, next: LIST_VOLUMES },
  },
];

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    ...{ rpc: "CreateVolumeGroupSnapshot", condition: "Cannot snapshot multiple volumes together" },
    code: "FAILED_PRECONDITION",
    why: "volumes on loop devices can; of a directory pool a group in use cannot be kept still, and is refused with this code",
  },
  {
    ...{
      rpc: "GetMetadataDelta",
      condition: "Changed block tracking is not enabled",
      code: "FAILED_PRECONDITION",
    },
    why: "nothing has to be switched on; for directory pools see packages/driver/src/snapshot-metadata",
  },
  {
    ...{ rpc: "any", condition: "Permission denied", code: "PERMISSION_DENIED" },
    why: "no call needs a secret: a process that may open the socket, mode 0600, may do everything",
  },
  {
    ...{ rpc: "any", condition: "Not authenticated", code: "UNAUTHENTICATED" },
    why: "as before: there is no user to be authenticated",
  },
  {
    ...{ rpc: "Probe", condition: "Missing required dependency", code: "FAILED_PRECONDITION" },
    why: "a driver that lacks a program reports it with the first pool; test/csi/probe.test.ts has a pool that is not healthy",
  },
  {
    ...{ rpc: "DeleteSnapshot", condition: "Snapshot in use", code: "FAILED_PRECONDITION" },
    why: "only while a restore runs, which takes milliseconds; packages/driver/src/controller/cluster.test.ts delays one",
  },
  {
    ...{
      rpc: "DeleteVolumeGroupSnapshot",
      condition: "Volume group snapshot in use",
      code: "FAILED_PRECONDITION",
    },
    why: "only while a restore of a member runs, as before",
  },
  {
    ...{ rpc: "ControllerExpandVolume", condition: "Volume in use", code: "FAILED_PRECONDITION" },
    why: "images and devices grow in use, so that this is never the result",
  },
  {
    ...{ rpc: "NodeExpandVolume", condition: "Volume in use", code: "FAILED_PRECONDITION" },
    why: "only for ext4 where the kernel denies growing in use; packages/driver/src/node/node.test.ts has it denied",
  },
  {
    ...{ rpc: "NodeGetVolumeHealth", condition: "Volume is not on the node", code: "NOT_FOUND" },
    why: "one machine has all volumes of its store",
  },
];
