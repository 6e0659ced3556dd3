import type {
  ReferenceGrant,
  SnapshotMetadataService,
  VolumeGroup,
  VolumeGroupClass,
  VolumeGroupClone,
  VolumeGroupContent,
  VolumeGroupRestore,
  VolumePopulator,
} from "@mooring/sidecars";
import type { KubeObject } from "@mooring/store";
import { conditions, type Full, metadata, time } from "./full.ts";

const ours = { apiVersion: "storage.mooring.dev/v1alpha1", metadata };

const overrides = {
  storageClassName: "c",
  accessModes: ["ReadWriteOnce"],
  size: "1Gi",
  volumeMode: "Block" as const,
  labels: { a: "b" },
};
const groupRestore: Full<VolumeGroupRestore> = {
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupRestore",
  metadata: { name: "r" },
  spec: {
    source: { volumeGroupSnapshotName: "g" },
    claimNameTemplate: "{{claim}}-again",
    defaults: overrides,
    members: [{ claim: "c", name: "n", ...overrides }],
    volumeGroup: { name: "g", volumeGroupClassName: "c" },
  },
  status: {
    phase: "Complete",
    message: "m",
    observedGeneration: 1,
    source: { uid: "u", driver: "d" },
    claims: { total: 1, created: 1, bound: 0 },
    members: [
      {
        sourceClaim: "c",
        snapshotName: "s",
        snapshotUID: "u",
        claimName: "n",
        storageClassName: "c",
        size: "1Gi",
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Block",
        phase: "WaitForFirstConsumer",
        message: "m",
      },
    ],
    volumeGroup: { name: "g", joined: 1 },
    conditions,
  },
};

const groupClone: Full<VolumeGroupClone> = {
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupClone",
  metadata: { name: "r" },
  spec: {
    source: { volumeGroupName: "g" },
    volumeGroup: { name: "h", volumeGroupClassName: "c" },
    volumeGroupSnapshotClassName: "s",
    claimNameTemplate: "{{claim}}-again",
    defaults: overrides,
    members: [{ claim: "c", name: "n", ...overrides }],
  },
  status: {
    phase: "Cleaning",
    message: "m",
    observedGeneration: 1,
    volumeGroupName: "h",
    claims: { total: 1, bound: 0 },
    members: [{ sourceClaim: "c", claimName: "n" }],
    conditions,
  },
};

/** A group that is brought in has no class. */
const volumeGroup: Omit<Full<VolumeGroup>, "spec"> & {
  spec: Omit<Full<VolumeGroup["spec"]>, "volumeGroupClassName">;
} = {
  ...ours,
  kind: "VolumeGroup",
  spec: {
    source: {
      volumeGroupContentName: "c",
      selector: {
        matchLabels: { a: "b" },
        matchExpressions: [{ key: "k", operator: "In", values: ["v"] }],
      },
      claimNames: ["n"],
    },
    memberSize: "1Gi",
  },
  status: {
    boundVolumeGroupContentName: "c",
    creationTime: time,
    ready: true,
    memberCount: 1,
    observedGeneration: 1,
    members: [{ claimName: "n", state: "Joined", reason: "R", message: "m", volumeHandle: "h" }],
    omitted: 1,
    frozenFor: [{ name: "s", uid: "u", attempt: 1, since: time, expired: false }],
    growth: {
      size: "1Gi",
      grown: 0,
      total: 1,
      waiting: [{ claimName: "n", reason: "Growing", message: "m" }],
    },
    conditions,
  },
};

const groupPolicies = {
  driver: "d",
  deletionPolicy: "Delete" as const,
  deleteMembers: "true" as const,
  driftPolicy: "Report" as const,
  maxMembers: 1,
  parameters: { a: "b" },
};
const volumeGroupClass: Full<VolumeGroupClass> = { ...ours, kind: "VolumeGroupClass", ...groupPolicies };
const volumeGroupContent: Full<VolumeGroupContent> = {
  ...ours,
  kind: "VolumeGroupContent",
  spec: {
    ...groupPolicies,
    volumeGroupClassName: "c",
    secretRef: { name: "s", namespace: "n" },
    volumeGroupRef: { name: "g", namespace: "n", uid: "u" },
    source: { volumeGroupHandle: "h" },
  },
  status: {
    volumeGroupHandle: "h",
    volumeGroupContext: { a: "b" },
    volumeHandles: ["v"],
    drift: { missing: ["a"], extra: ["v"] },
    creationTime: time,
    ready: true,
    conditions,
  },
};

const referenceGrant: Full<ReferenceGrant> = {
  apiVersion: "gateway.networking.k8s.io/v1beta1",
  kind: "ReferenceGrant",
  metadata,
  spec: { from: [{ group: "", kind: "K", namespace: "n" }], to: [{ group: "g", kind: "K", name: "n" }] },
};
const volumePopulator: Full<VolumePopulator> = {
  apiVersion: "populator.storage.k8s.io/v1beta1",
  kind: "VolumePopulator",
  metadata,
  sourceKind: { group: "g", kind: "K" },
};

const snapshotMetadataService: Full<SnapshotMetadataService> = {
  apiVersion: "cbt.storage.k8s.io/v1beta1",
  kind: "SnapshotMetadataService",
  metadata,
  spec: { audience: "a", address: "h:1", caCert: "YQ==" },
};

/** One of each kind, of ours and of others, that sidecars serve for any driver, with every field. */
export const SIDECAR_SAMPLES: readonly KubeObject[] = [
  ...[groupRestore, groupClone, volumeGroup, volumeGroupClass, volumeGroupContent],
  ...[referenceGrant, volumePopulator, snapshotMetadataService],
];
