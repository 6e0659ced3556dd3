import { Code } from "@mooring/csi";
import {
  apiVersionOf,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  isConflict,
  isStatus,
  type KubeObject,
  KubeVolumeAttachments,
  mutate,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeAttributesClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { type Disturbance, disturb } from "@mooring/store/testing";
import fc from "fast-check";
import { capacityFor } from "../capacity/decide.ts";
import { attacherFinalizer, CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { groupClone } from "../group-clone/testing/objects.ts";
import { VolumeGroupClones } from "../kube/group-clone.ts";
import { type VolumeGroupRestore, VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupClasses, VolumeGroups } from "../kube/volume-group.ts";
import { volumeGroup, volumeGroupClass } from "../volume-group/testing/objects.ts";
import { fresh, NS } from "./group-world.ts";
import type { Harness } from "./harness.ts";
import {
  csiNode,
  DRIVER,
  groupClass,
  groupSnapshot,
  node,
  persistentVolume,
  snapshotClass,
  storageClass,
} from "./objects.ts";
import { CLASSES, WAITED_FOR } from "./registry.ts";
import { pvc, vs } from "./snapshot-world.ts";

/** Random changes to everything that the controllers of a driver read, and the calls of it that fail. */

/** Whatever a user, an administrator or an impatient user of kubectl may touch. */
const KINDS = [
  ...WAITED_FOR,
  ...CLASSES,
  ...([Nodes, CSINodes, CSIDrivers, CSIStorageCapacities] as unknown as Resource<KubeObject>[]),
];

/** What the CSIDriver object of the driver is to have. */
export const DECLARED = { podInfoOnMount: true };
const ZONES = ["a", "b", "c"] as const;

/** Claims of both values of the label `team` are there: a claim that changes it changes its group. */
const TEAMS = ["a", "b"] as const;
/** What the driver may refuse, or do without a response. */
const METHODS = [
  ...["CreateVolume", "DeleteVolume", "CreateSnapshot", "DeleteSnapshot", "ControllerPublishVolume"],
  ...[
    "GetCapacity",
    "ControllerExpandVolume",
    "ControllerModifyVolume",
    "CreateVolumeGroupSnapshot",
    "CreateVolumeGroup",
  ],
  ...["DeleteVolumeGroupSnapshot", "ModifyVolumeGroupMembership", "DeleteVolumeGroup"],
] as const;
const CODES = [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.INTERNAL, Code.RESOURCE_EXHAUSTED];

const DEEDS = [
  ...["claim", "copy", "restore", "snapshot", "attach", "grow", "classes"],
  ...["place", "room", "other-capacity", "other-finalizer", "driver-object"],
  ...["team", "attributes", "group", "group-size", "group-snapshot", "group-restore", "group-clone", "fault"],
] as const;
type Deed = (typeof DEEDS)[number];

/** One change of a history. */
export type Change = { do: Deed; which: number } | Disturbance;

const which = fc.nat({ max: 2 });
const kind = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: WAITED_FOR.length - 1 }) },
  { weight: 1, arbitrary: fc.nat({ max: KINDS.length - 1 }) },
);

/** Any change. */
export const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...DEEDS), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("delete", "strip", "touch"), kind, which }),
  },
);

function dataSource(kindOf: "PersistentVolumeClaim" | "VolumeSnapshot", name: string): object {
  const group = kindOf === "VolumeSnapshot" ? { apiGroup: "snapshot.storage.k8s.io" } : {};
  return { dataSource: { kind: kindOf, name, ...group } };
}

function attributesClass(name: string) {
  const parameters = { tier: name };
  const head = { apiVersion: apiVersionOf(VolumeAttributesClasses), kind: "VolumeAttributesClass" };
  return { ...head, metadata: { name }, driverName: DRIVER, parameters };
}

function groupRestore(name: string, volumeGroupSnapshotName: string): VolumeGroupRestore {
  return {
    apiVersion: apiVersionOf(VolumeGroupRestores),
    kind: "VolumeGroupRestore",
    metadata: { name, namespace: NS },
    spec: { source: { volumeGroupSnapshotName }, volumeGroup: { name: `of-${name}` } },
  };
}

/** What users and administrators may do to claims, volumes and snapshots, three times each. */
function plainDeeds({ driver, store }: Harness, number: number) {
  const claim = { namespace: NS, name: `c${number}` };
  return {
    claim: () => {
      const made = pvc(claim.name);
      const labels = { team: TEAMS[number % 2] ?? "" };
      return store.create(PersistentVolumeClaims, { ...made, metadata: { ...made.metadata, labels } });
    },
    copy: () =>
      store.create(
        PersistentVolumeClaims,
        pvc(`copy${number}`, dataSource("PersistentVolumeClaim", claim.name)),
      ),
    restore: () =>
      store.create(
        PersistentVolumeClaims,
        pvc(`restored${number}`, dataSource("VolumeSnapshot", `s${number}`)),
      ),
    snapshot: () =>
      store.create(VolumeSnapshots, vs(`s${number}`, { source: { persistentVolumeClaimName: claim.name } })),
    attach: async () => {
      const persistentVolumeName = (await store.list(PersistentVolumes)).items[number]?.metadata.name;
      if (persistentVolumeName === undefined) return;
      const metadata = { name: `a-${persistentVolumeName}` };
      const spec = { attacher: DRIVER, nodeName: "n", source: { persistentVolumeName } };
      const head = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment" };
      await store.create(KubeVolumeAttachments, { ...head, metadata, spec });
    },
    grow: () =>
      mutate(store, PersistentVolumeClaims, claim, ({ spec }) => {
        if (spec?.resources?.requests) spec.resources.requests["storage"] = "2Gi";
      }),
    attributes: () =>
      mutate(store, PersistentVolumeClaims, claim, ({ spec }) => {
        if (spec !== undefined)
          spec.volumeAttributesClassName = spec.volumeAttributesClassName === "gold" ? "silver" : "gold";
      }),
    fault: () => {
      const roll = Math.floor(Math.random() * METHODS.length);
      const [method = "", code = Code.INTERNAL] = [METHODS[roll], CODES[roll % CODES.length]];
      driver.faults.add({ method, code, effect: number > 0, times: number + 1 });
    },
  };
}

/** And to groups of them. */
function groupDeeds({ store }: Harness, number: number) {
  const [group, team] = [`g${number}`, TEAMS[number % 2] ?? ""];
  const matchLabels = { team };
  return {
    team: () =>
      mutate(store, PersistentVolumeClaims, { namespace: NS, name: `c${number}` }, ({ metadata }) => {
        metadata.labels = { team: metadata.labels?.["team"] === "a" ? "b" : "a" };
      }),
    group: () => {
      const source = number === 2 ? { claimNames: ["c0", "c2"] } : { selector: { matchLabels } };
      return store.create(VolumeGroups, fresh(volumeGroup(group, { source })));
    },
    "group-size": () =>
      mutate(store, VolumeGroups, { namespace: NS, name: group }, ({ spec }) => {
        spec.memberSize = "3Gi";
      }),
    "group-snapshot": () => {
      const spec = { source: { selector: { matchLabels } }, volumeGroupSnapshotClassName: "groups" };
      return store.create(VolumeGroupSnapshots, fresh(groupSnapshot(`gs${number}`, spec)));
    },
    "group-restore": () => store.create(VolumeGroupRestores, groupRestore(`gr${number}`, `gs${number}`)),
    "group-clone": () => {
      const clone = groupClone({ source: { volumeGroupName: group } });
      return store.create(VolumeGroupClones, { ...clone, metadata: { namespace: NS, name: `gc${number}` } });
    },
  };
}

/** And what an administrator, another program and the storage system may do. */
function clusterDeeds({ driver, store }: Harness, number: number) {
  const zone = ZONES[number] ?? "a";
  return {
    classes: () => makeClasses(store),
    place: () =>
      mutate(store, Nodes, { name: "n" }, ({ metadata }) => {
        metadata.labels = { ...metadata.labels, zone };
      }),
    room: () => {
      driver.availableBytes = () => BigInt(number) * 10n * 1024n ** 3n;
    },
    /** Of the same place, under another name, as a program that ran before has left it. */
    "other-capacity": async () => {
      const keeper = { driver: DRIVER, namespace: "kube-system", here: undefined, owner: undefined };
      const slot = { className: storageClass().metadata.name, segments: { zone } };
      const { metadata, ...rest } = capacityFor(keeper, slot, { capacity: "1Gi" });
      await store.create(CSIStorageCapacities, { ...rest, metadata: { ...metadata, name: `old-${number}` } });
    },
    /** As the snapshot controller of Kubernetes has left it. */
    "other-finalizer": () =>
      mutate(store, PersistentVolumeClaims, { namespace: NS, name: `c${number}` }, ({ metadata }) => {
        metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), CLAIM_SOURCE_FINALIZER])];
      }),
    "driver-object": () =>
      mutate(store, CSIDrivers, { name: DRIVER }, ({ spec }) => {
        if (number === 0) spec.podInfoOnMount = false;
        else spec.fsGroupPolicy = number === 1 ? "File" : "None";
      }),
  };
}

/** Whatever of the classes and the node is not there. */
export async function makeClasses(store: Harness["store"]): Promise<void> {
  const all = [
    [StorageClasses, storageClass()],
    [VolumeSnapshotClasses, snapshotClass()],
    [VolumeGroupSnapshotClasses, groupClass()],
    [VolumeGroupClasses, volumeGroupClass()],
    [VolumeAttributesClasses, attributesClass("gold")],
    [VolumeAttributesClasses, attributesClass("silver")],
    [Nodes, node("n", { zone: "a" })],
    [CSINodes, csiNode("n", ["zone"])],
  ] as unknown as [Resource, KubeObject][];
  for (const [resource, object] of all) await store.create(resource, object).catch(forgive);
}

/** Makes one change. */
export async function make(h: Harness, what: Change): Promise<void> {
  if (!("kind" in what)) {
    const deeds: Record<Deed, () => unknown> = {
      ...plainDeeds(h, what.which),
      ...groupDeeds(h, what.which),
      ...clusterDeeds(h, what.which),
    };
    return void (await deeds[what.do]());
  }
  await disturb(h.store, KINDS, what);
}

/**
 * The first history: each controller gets something to do, one after the other, as a random one seldom has what comes first, and a
 * driver that fails at the wrong time.
 */
export async function first(h: Harness): Promise<void> {
  const all = async (...deeds: Deed[]): Promise<void> => {
    for (const what of deeds)
      for (const which of [0, 1, 2]) await make(h, { do: what, which }).catch(forgive);
  };
  const bound = (name: string) =>
    h.until(`${name} is bound`, async () => {
      const claim = await h.find(PersistentVolumeClaims, name, NS);
      return claim?.status?.phase === "Bound";
    });
  await all("claim", "other-capacity");
  for (const name of ["c0", "c1", "c2"]) await bound(name);
  // Before they grow: a copy is never smaller than its source.
  await all("copy", "snapshot", "restore");
  await bound("copy2");
  await all("attach", "grow", "attributes", "group", "driver-object", "other-finalizer");
  await all("group-snapshot", "group-restore", "group-clone", "place");
  await h.store.delete(PersistentVolumeClaims, { namespace: NS, name: "copy2" });
  // One that an administrator has made, and whose data nobody deletes: it goes with its last attachment.
  const finalizers = [attacherFinalizer(DRIVER)];
  await h.store.create(PersistentVolumes, fresh(persistentVolume("leaving", {}, { finalizers })));
  await h.store.delete(PersistentVolumes, { name: "leaving" });
}

/** What the history has come too late for, or the API refuses. */
export function forgive(error: unknown): void {
  if (!isConflict(error) && !isStatus(error, "NotFound", "AlreadyExists", "Invalid", "Forbidden"))
    throw error;
}
