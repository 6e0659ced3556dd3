import { aClaim, aSnapshot } from "./objects.ts";
import type { Situation } from "./situation.ts";

const labelled = (name: string, options: Parameters<typeof aClaim>[1] = {}): object => {
  const claim = aClaim(name, options);
  return { ...claim, metadata: { ...claim.metadata, labels: { app: "shop" } } };
};
const group = (name: string, fields: object = {}): object => ({
  apiVersion: "groupsnapshot.storage.k8s.io/v1",
  kind: "VolumeGroupSnapshot",
  metadata: { name },
  spec: {
    volumeGroupSnapshotClassName: "mooring",
    source: { selector: { matchLabels: { app: "shop" } } },
    ...fields,
  },
});
const restore = (name: string, from: string): object => ({
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupRestore",
  metadata: { name },
  spec: { source: { volumeGroupSnapshotName: from } },
});
const ofGroups = (kind: string, name: string, spec: object): object => ({
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind,
  metadata: { name },
  spec,
});
const content = (name: string, handle: string): object => ({
  apiVersion: "snapshot.storage.k8s.io/v1",
  kind: "VolumeSnapshotContent",
  metadata: { name, namespace: "" },
  spec: {
    driver: "csi.mooring.dev",
    deletionPolicy: "Retain",
    source: { snapshotHandle: handle },
    volumeSnapshotRef: { name: "imported", namespace: "here" },
  },
});
const imported = (contentName: string): object => ({
  apiVersion: "snapshot.storage.k8s.io/v1",
  kind: "VolumeSnapshot",
  metadata: { name: "imported" },
  spec: { volumeSnapshotClassName: "mooring", source: { volumeSnapshotContentName: contentName } },
});

export const SNAPSHOTS: readonly Situation[] = [
  {
    name: "a snapshot of a class that nobody has made",
    objects: [
      aClaim("data"),
      {
        ...aSnapshot("monday", "data"),
        spec: { volumeSnapshotClassName: "gold", source: { persistentVolumeClaimName: "data" } },
      },
    ],
    target: "volumesnapshot/monday",
    cause: /VolumeSnapshot \S+\/monday: .*gold/,
    next: /create volumesnapshotclass gold, or name another one: kubectl get volumesnapshotclass/,
    doctor: /VolumeSnapshot \S+\/monday +fail/,
  },
  {
    name: "a snapshot of a claim that nobody has made",
    objects: [aSnapshot("monday", "data")],
    target: "volumesnapshot/monday",
    cause: /(PersistentVolumeClaim \S+\/data: does not exist|claim .*data)/,
    next: /kubectl get pvc -n/,
  },
  {
    name: "a snapshot of a claim that is not bound",
    objects: [aClaim("data", { className: "gold" }), aSnapshot("monday", "data")],
    target: "volumesnapshot/monday",
    cause: /PersistentVolumeClaim \S+\/data: StorageClass gold does not exist/,
    next: /create StorageClass gold/,
  },
  {
    name: "an import of a snapshot whose content is missing",
    objects: [imported("brought-1")],
    target: "volumesnapshot/imported",
    cause: /VolumeSnapshot \S+\/imported: .*brought-1/,
    next: /kubectl describe volumesnapshot -n \S+ imported/,
  },
  {
    name: "an import of a snapshot that the driver does not have",
    objects: [content("brought-2", "s-default-00000000-0000-4000-8000-000000000000"), imported("brought-2")],
    target: "volumesnapshot/imported",
    cause: /VolumeSnapshotContent brought-2: .*(not found|does not exist)/,
    next: /kubectl describe volumesnapshot/,
  },
  {
    name: "a group that selects nothing",
    objects: [aClaim("other"), group("noon")],
    target: "volumegroupsnapshot/noon",
    cause: /no claim of the namespace matches the selector/,
    next: /label the claims/,
    doctor: /VolumeGroupSnapshot \S+\/noon +(fail|warn)/,
  },
  {
    name: "a group of a class that nobody has made",
    objects: [labelled("data"), group("noon", { volumeGroupSnapshotClassName: "gold" })],
    target: "volumegroupsnapshot/noon",
    cause: /VolumeGroupSnapshot \S+\/noon: .*gold/,
    next: /kubectl get volumegroupsnapshotclass/,
  },
  {
    name: "a group with a claim that is not bound",
    objects: [labelled("data"), labelled("log", { className: "gold" }), group("noon")],
    target: "volumegroupsnapshot/noon",
    cause: /PersistentVolumeClaim \S+\/log: StorageClass gold does not exist/,
    next: /create StorageClass gold/,
  },
  {
    name: "a restore of a group snapshot that nobody has made",
    objects: [restore("again", "noon")],
    target: "volumegrouprestore/again",
    cause: /VolumeGroupSnapshot \S+\/noon: does not exist/,
    next: /mooring group list -n/,
  },
  {
    name: "a restore over claims that are there",
    objects: [
      labelled("data"),
      group("noon"),
      {
        ...restore("again", "noon"),
        spec: { source: { volumeGroupSnapshotName: "noon" }, claimNameTemplate: "{{claim}}" },
      },
    ],
    target: "volumegrouprestore/again",
    cause: /VolumeGroupRestore \S+\/again: Failed: .*claim data exists/,
    next: /restore again/,
    doctor: /VolumeGroupRestore \S+\/again +fail/,
  },
  {
    name: "a clone of a volume group whose class nobody has made",
    objects: [
      ofGroups("VolumeGroup", "db", {
        volumeGroupClassName: "gold",
        source: { selector: { matchLabels: { app: "db" } } },
      }),
      ofGroups("VolumeGroupClone", "copy", { source: { volumeGroupName: "db" } }),
    ],
    target: "volumegroupclone/copy",
    cause: /VolumeGroup \S+\/db: .*gold/,
    next: /kubectl get volumegroupclasses/,
    doctor: /VolumeGroupClone \S+\/copy +fail[\s\S]*VolumeGroup \S+\/db +fail/,
  },
  {
    name: "a revert to a group snapshot that nobody has made",
    objects: [ofGroups("VolumeGroupRevert", "back", { source: { volumeGroupSnapshotName: "noon" } })],
    target: "volumegrouprevert/back",
    cause: /VolumeGroupSnapshot \S+\/noon: does not exist/,
    next: /mooring group list -n/,
  },
  {
    name: "a volume group of a class that nobody has made",
    objects: [
      ofGroups("VolumeGroup", "db", {
        volumeGroupClassName: "gold",
        source: { selector: { matchLabels: { app: "db" } } },
      }),
    ],
    target: "volumegroup/db",
    cause: /VolumeGroup \S+\/db: .*gold/,
    next: /kubectl get volumegroupclasses/,
    doctor: /VolumeGroup \S+\/db +fail/,
  },
  {
    name: "a volume group with a claim that is not bound",
    objects: [
      {
        apiVersion: "storage.mooring.dev/v1alpha1",
        kind: "VolumeGroupClass",
        metadata: { name: "groups", namespace: "" },
        deletionPolicy: "Delete",
        driver: "csi.mooring.dev",
      },
      labelled("log", { className: "gold" }),
      ofGroups("VolumeGroup", "shop", {
        volumeGroupClassName: "groups",
        source: { selector: { matchLabels: { app: "shop" } } },
      }),
    ],
    target: "volumegroup/shop",
    cause: /PersistentVolumeClaim \S+\/log: StorageClass gold does not exist/,
    next: /create StorageClass gold/,
  },
];
