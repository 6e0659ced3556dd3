import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  type GroupSnapshot,
  type NodeAgent,
  ownerKinds,
  type Pool,
  type RecurringJob,
  type ShareManager,
  type Snapshot,
  type Volume,
  type VolumeAttachment,
} from "@mooring/engine";
import type { VolumeGroupRestore } from "@mooring/sidecars";
import type {
  KubeObject,
  ObjectMeta,
  UnstructuredObject,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from "@mooring/store";
import { parse } from "yaml";
import { builtinKinds } from "../builtin/index.ts";
import { customKind } from "./custom-kind.ts";
import { bundledCrds } from "./install.ts";
import type { CustomResourceDefinition } from "./types.ts";

/** Every field given, also the optional ones, so that a field that is added to a type must be added here too. */
type Full<T> = T extends (infer E)[]
  ? Full<E>[]
  : T extends object
    ? { [K in keyof T]-?: K extends "metadata" ? Pick<ObjectMeta, "name"> : Full<NonNullable<T[K]>> }
    : T;

const time = "2026-01-01T00:00:00Z";
const metadata = { name: "x" };
const conditions = [
  {
    type: "Ready",
    status: "True" as const,
    reason: "R",
    message: "m",
    lastTransitionTime: time,
    observedGeneration: 1,
  },
];
const error = { code: "INTERNAL", message: "m" };
const ours = { apiVersion: "storage.mooring.dev/v1alpha1", metadata };
const theirs = { apiVersion: "snapshot.storage.k8s.io/v1", metadata };

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
    migratable: true,
    nodeID: "n",
    migrationNodeID: "m",
    disableFrontend: false,
    lastAttachedBy: "a",
    acceptDataLoss: time,
    restoreFrom: { snapshot: "s", request: "1" },
    mutableParameters: { a: "b" },
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
  spec: { type: "xfs", mode: "local", nodeID: "n", path: "/p", size: 1, overcommit: 1.5, reserve: 1 },
  status: { ready: true, nodes: ["n"], totalBytes: 1, freeBytes: 1, promisedBytes: 1, conditions },
};

const agent: Full<NodeAgent> = {
  ...ours,
  kind: "NodeAgent",
  spec: { topology: { a: "b" } },
  status: { state: "Ready", heartbeat: time, holder: "h", version: "1", conditions },
};

const overrides = { storageClassName: "c", accessModes: ["ReadWriteOnce"], size: "1Gi", labels: { a: "b" } };
const groupRestore: Full<VolumeGroupRestore> = {
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupRestore",
  metadata: { name: "r" },
  spec: {
    source: { volumeGroupSnapshotName: "g" },
    claimNameTemplate: "{{claim}}-again",
    defaults: overrides,
    members: [{ claim: "c", name: "n", ...overrides }],
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
  status: { state: "running", nodeID: "n", endpoint: "nfs://10.0.0.1:20490/v", size: 1, error },
};

const snapshotClass: Full<VolumeSnapshotClass> = {
  ...theirs,
  kind: "VolumeSnapshotClass",
  driver: "d",
  deletionPolicy: "Delete",
  parameters: { a: "b" },
};

const volumeSnapshot: Full<Omit<VolumeSnapshot, "spec">> & Pick<VolumeSnapshot, "spec"> = {
  ...theirs,
  kind: "VolumeSnapshot",
  spec: { source: { persistentVolumeClaimName: "c" }, volumeSnapshotClassName: "c" },
  status: {
    boundVolumeSnapshotContentName: "c",
    creationTime: time,
    readyToUse: true,
    restoreSize: "1Gi",
    error: { time, message: "m" },
    volumeGroupSnapshotName: "g",
  },
};

const content: Full<Omit<VolumeSnapshotContent, "spec">> & Pick<VolumeSnapshotContent, "spec"> = {
  ...theirs,
  kind: "VolumeSnapshotContent",
  spec: {
    volumeSnapshotRef: {
      apiVersion: "v1",
      kind: "K",
      name: "s",
      namespace: "a",
      uid: "u",
      resourceVersion: "1",
    },
    deletionPolicy: "Retain",
    driver: "d",
    volumeSnapshotClassName: "c",
    source: { snapshotHandle: "h" },
    sourceVolumeMode: "Block",
  },
  status: {
    snapshotHandle: "h",
    creationTime: 1,
    restoreSize: 1,
    readyToUse: true,
    error: { time, message: "m" },
    volumeGroupSnapshotHandle: "g",
  },
};

const groups = { apiVersion: "groupsnapshot.storage.k8s.io/v1", metadata };

const groupClass: Full<VolumeGroupSnapshotClass> = {
  ...groups,
  kind: "VolumeGroupSnapshotClass",
  driver: "d",
  deletionPolicy: "Retain",
  parameters: { a: "b" },
};

const groupSnapshot: Full<Omit<VolumeGroupSnapshot, "spec">> & Pick<VolumeGroupSnapshot, "spec"> = {
  ...groups,
  kind: "VolumeGroupSnapshot",
  spec: {
    source: {
      selector: {
        matchLabels: { a: "b" },
        matchExpressions: [{ key: "k", operator: "In", values: ["v"] }],
      },
    },
    volumeGroupSnapshotClassName: "c",
  },
  status: {
    boundVolumeGroupSnapshotContentName: "c",
    creationTime: time,
    readyToUse: true,
    error: { time, message: "m" },
  },
};

const groupContent: Full<Omit<VolumeGroupSnapshotContent, "spec">> &
  Pick<VolumeGroupSnapshotContent, "spec"> = {
  ...groups,
  kind: "VolumeGroupSnapshotContent",
  spec: {
    volumeGroupSnapshotRef: {
      apiVersion: "v1",
      kind: "K",
      name: "s",
      namespace: "a",
      uid: "u",
      resourceVersion: "1",
    },
    deletionPolicy: "Retain",
    driver: "d",
    volumeGroupSnapshotClassName: "c",
    source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: "g", volumeSnapshotHandles: ["h"] } },
  },
  status: {
    volumeGroupSnapshotHandle: "g",
    creationTime: time,
    readyToUse: true,
    error: { time, message: "m" },
    volumeSnapshotInfoList: [
      { volumeHandle: "v", snapshotHandle: "h", creationTime: 1, readyToUse: true, restoreSize: 1 },
    ],
    volumeSnapshotHandlePairList: [{ volumeHandle: "v", snapshotHandle: "h" }],
  },
};

const samples: KubeObject[] = [
  volume,
  attachment,
  snapshot,
  engineGroup,
  pool,
  agent,
  job,
  share,
  groupRestore,
  snapshotClass,
  volumeSnapshot,
  content,
  groupClass,
  groupSnapshot,
  groupContent,
];

async function definitions(): Promise<CustomResourceDefinition[]> {
  return Promise.all(
    (await bundledCrds()).map(
      async (file) => parse(await readFile(file, "utf8")) as CustomResourceDefinition,
    ),
  );
}

test("the definitions know every field of the types, and lose none of them", async () => {
  const all = await definitions();
  for (const sample of samples) {
    const [group] = sample.apiVersion.split("/");
    const crd = all.find(({ spec }) => spec.names.kind === sample.kind && spec.group === group);
    assert.ok(crd, sample.kind);
    const strategy = customKind(crd).definition.strategy;
    const stored = strategy?.create?.(structuredClone(sample) as unknown as UnstructuredObject, {
      dryRun: false,
    });
    assert.deepEqual(stored, sample);
  }
  assert.equal(samples.length, all.length);
});

test("every definition describes all its fields and ends its columns with the age", async () => {
  const visit = (node: Record<string, unknown>, path: string): void => {
    for (const [field, child] of Object.entries(
      (node.properties ?? {}) as Record<string, Record<string, unknown>>,
    )) {
      assert.ok(child.description, `${path}.${field}`);
      visit(child, `${path}.${field}`);
      if (child.items !== undefined) visit(child.items as Record<string, unknown>, `${path}.${field}[]`);
    }
  };
  for (const crd of await definitions()) {
    for (const version of crd.spec.versions) {
      visit(version.schema?.openAPIV3Schema as Record<string, unknown>, crd.spec.names.kind);
      assert.equal(version.additionalPrinterColumns?.at(-1)?.name, "Age");
    }
  }
});

test("a ticket dies with an object of just those kinds that the arbiter watches", async () => {
  const crd = (await definitions()).find(({ metadata }) => metadata.name.startsWith("volumeattachments."));
  const schema = JSON.stringify(crd?.spec.versions[0]?.schema);
  const [, list = ""] = /self\.owner\.kind\) in \[([^\]]*)\]/.exec(schema) ?? [];
  const allowed = [...list.matchAll(/'([^']+)'/g)].map(([, kind]) => kind);
  assert.deepEqual(allowed.sort(), Object.keys(ownerKinds(true)).sort());
});

test("[K8S-142] our VolumeAttachment and the Kubernetes one are two kinds in two groups", async () => {
  const own = (await definitions()).find(({ spec }) => spec.names.kind === "VolumeAttachment");
  const theirs = builtinKinds.find(({ resource }) => resource.kind === "VolumeAttachment");
  assert.deepEqual([own?.spec.group, theirs?.resource.group], ["storage.mooring.dev", "storage.k8s.io"]);
});

test("[KEP-069] a snapshot cannot ask for a group: membership is in its status alone", async () => {
  const crd = (await definitions()).find(({ spec }) => spec.names.kind === "VolumeSnapshot");
  assert.ok(crd);
  const asking = structuredClone(volumeSnapshot) as unknown as UnstructuredObject;
  Object.assign(asking.spec as object, { volumeGroupSnapshotName: "g", groupSnapshotName: "g" });
  const { definition, info } = customKind(crd);
  assert.deepEqual(info.unknownFields?.(asking, "v1"), [
    "spec.volumeGroupSnapshotName",
    "spec.groupSnapshotName",
  ]);
  const stored = definition.strategy?.create?.(asking, { dryRun: false });
  assert.deepEqual(stored?.spec, volumeSnapshot.spec);
});
