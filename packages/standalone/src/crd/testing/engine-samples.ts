import type {
  GroupSnapshot,
  NodeAgent,
  Pool,
  RecurringJob,
  ShareManager,
  Snapshot,
  Volume,
  VolumeAttachment,
  VolumeGroupRevert,
  VolumeSet,
} from "@mooring/engine";
import type { KubeObject } from "@mooring/store";
import { conditions, error, type Full, metadata, time } from "./full.ts";

const ours = { apiVersion: "storage.mooring.dev/v1alpha1", metadata };

const volume: Full<Volume> = {
  ...ours,
  kind: "Volume",
  spec: {
    size: 1,
    pool: "p",
    source: { kind: "Volume", name: "v" },
    volumeMode: "Filesystem",
    fsType: "xfs",
    accessMode: "rwo",
    provisioningType: "thick",
    imageFeatures: ["layering", "exclusive-lock"],
    migratable: true,
    nodeID: "n",
    migrationNodeID: "m",
    disableFrontend: false,
    lastAttachedBy: "a",
    acceptDataLoss: time,
    restoreFrom: { snapshot: "s", request: "1", revert: { name: "n/r", committed: true } },
    mutableParameters: { a: "b" },
    group: { name: "vg-1", change: "c" },
    request: { any: { thing: [1] } },
  },
  status: {
    state: "attached",
    robustness: "healthy",
    currentNodeID: "n",
    currentMigrationNodeID: "m",
    migrationDevice: "/dev/loop1",
    ownerID: "n",
    device: "/dev/loop0",
    frontendDisabled: false,
    size: 1,
    formatted: "xfs",
    remountRequestedAt: time,
    remounted: { n: time },
    expansion: { size: 1, failures: 1, failedAt: time, message: "m" },
    salvage: {
      ...{ cause: "filesystem", faultedAt: time, state: "Repaired", message: "m", finishedAt: time },
      ...{ dataLoss: true, failures: 1, failedAt: time },
    },
    restore: {
      ...{ snapshot: "s", request: "1", state: "Failed", finishedAt: time },
      ...{ message: "m", failures: 1, failedAt: time },
    },
    error,
    conditions,
  },
};

const attachment: Full<VolumeAttachment> = {
  ...ours,
  kind: "VolumeAttachment",
  spec: {
    volume: "x",
    attachmentTickets: {
      t: {
        id: "t",
        type: "csi-attacher",
        nodeID: "n",
        parameters: { disableFrontend: "any" },
        generation: 1,
        owner: {
          apiVersion: "storage.mooring.dev/v1alpha1",
          kind: "Snapshot",
          namespace: "a",
          name: "o",
          uid: "u",
        },
        createdAt: time,
        expiresAt: time,
      },
    },
  },
  status: {
    attachmentTicketStatuses: { t: { id: "t", satisfied: true, conditions, generation: 1 } },
    generationCounter: 1,
    ticketDigests: { t: "0123456789abcdef" },
    moves: { nodeID: "n", count: 1, basis: "b", movedAt: time },
    conditions,
    state: "attached",
    nodeID: "n",
    migration: "step 2 of 3: n to m",
    satisfied: 1,
    waiting: 0,
    holder: "csi-attacher",
  },
};

const snapshot: Full<Snapshot> = {
  ...ours,
  kind: "Snapshot",
  spec: { volume: "v", pool: "p", group: "g", request: { any: 1 } },
  status: {
    readyToUse: true,
    creationTime: "2026-01-01T00:00:00.123Z",
    restoreSize: 1,
    ownerID: "n",
    formatted: "ext4",
    failures: 1,
    failedAt: time,
    error,
    conditions,
  },
};

const volumeSet: Full<VolumeSet> = {
  ...ours,
  kind: "VolumeSet",
  spec: {
    members: ["v"],
    generation: 1,
    pool: "p",
    maxVolumes: 2,
    deleteVolumes: false,
    change: { id: "c", members: ["v", "w"] },
    deleted: false,
    request: { any: 1 },
  },
};

const engineGroup: Full<GroupSnapshot> = {
  ...ours,
  kind: "GroupSnapshot",
  spec: {
    members: [{ volume: "v", snapshot: "s-1", pool: "p" }],
    deadlineSeconds: 5,
    request: { any: 1 },
  },
  status: {
    state: "ready",
    attempt: 1,
    readyToUse: true,
    nodes: {
      n: {
        attempt: 1,
        phase: "done",
        methods: { v: "freeze" },
        startTime: time,
        endTime: time,
        pauseMilliseconds: 1.5,
        heldThroughCut: true,
        error,
        interrupted: false,
      },
    },
    barrier: { method: "freeze", startTime: time, endTime: time, pauseMilliseconds: 1.5 },
    members: [{ volume: "v", snapshot: "s-1", nodeID: "n", method: "freeze" }],
    creationTime: time,
    error,
    conditions,
  },
};

const pool: Full<Pool> = {
  ...ours,
  kind: "Pool",
  spec: {
    type: "xfs",
    mode: "local",
    nodeID: "n",
    path: "/p",
    rbd: { user: "u", pool: "p", namespace: "n", keyring: "/k", flattenDepth: 8 },
    size: 1,
    overcommit: 1.5,
    reserve: 1,
    holdWriters: true,
  },
  status: {
    ready: true,
    nodes: ["n"],
    totalBytes: 1,
    freeBytes: 1,
    promisedBytes: 1,
    thickBytes: 1,
    conditions,
  },
};

const agent: Full<NodeAgent> = {
  ...ours,
  kind: "NodeAgent",
  spec: { topology: { a: "b" } },
  status: { state: "Ready", heartbeat: time, holder: "h", version: "1", address: "192.0.2.7", conditions },
};

const groupRevert: Full<VolumeGroupRevert> = {
  ...ours,
  kind: "VolumeGroupRevert",
  metadata: { name: "r" },
  spec: { source: { volumeGroupSnapshotName: "g" } },
  status: {
    phase: "Reverting",
    message: "m",
    observedGeneration: 1,
    sourceUID: "u",
    members: [{ claim: "c", volume: "v", snapshot: "s" }],
    volumes: { total: 1, held: 1, reverted: 0 },
    committedAt: time,
    finishedAt: time,
    conditions,
  },
};

const task = { volume: "v", snapshot: "s", state: "Failed" as const, startedAt: time, message: "m" };
const run = { scheduledAt: time, startedAt: time, finishedAt: time, tasks: [task] };
const job: Full<RecurringJob> = {
  ...ours,
  kind: "RecurringJob",
  spec: {
    cron: "@daily",
    timeZone: "Europe/Berlin",
    task: "snapshot",
    retain: 1,
    groups: ["default"],
    volumeSelector: {
      matchLabels: { a: "b" },
      matchExpressions: [{ key: "k", operator: "In", values: ["v"] }],
    },
    concurrency: 1,
    suspend: true,
    missedRuns: "Skip",
    startingDeadlineSeconds: 1,
    deadlineSeconds: 1,
    labels: { a: "b" },
  },
  status: {
    phase: "Waiting",
    lastSuccessfulTime: time,
    lastScheduleTime: time,
    nextRun: time,
    active: run,
    lastRun: { ...run, succeeded: 1, failed: 1 },
    runs: 1,
    failures: 1,
    skipped: 1,
    conditions,
  },
};

const share: Full<ShareManager> = {
  ...ours,
  kind: "ShareManager",
  spec: { nodeID: "n", users: ["n", "o"] },
  status: {
    ...{ state: "running", nodeID: "n", endpoint: "nfs://10.0.0.1:20490/v", size: 1, users: ["o"], error },
    untrusted: [{ nodeID: "q", address: "192.0.2.1", refused: true, message: "..." }],
  },
};

/** One of each kind of the engine, with every field. */
export const ENGINE_SAMPLES: readonly KubeObject[] = [
  ...[volume, attachment, snapshot, engineGroup, volumeSet],
  ...[pool, agent, job, share, groupRevert],
];
