import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeSnapshot, VolumeSnapshotContent } from "@mooring/store";
import {
  BEING_DELETED,
  CLAIM_SOURCE_FINALIZER,
  DEFAULT_SNAPSHOT_CLASS,
  SNAPSHOT_BOUND_FINALIZER,
  SNAPSHOT_FINALIZER,
  SNAPSHOT_SECRET_NAME,
  SNAPSHOT_SECRET_NAMESPACE,
  SNAPSHOT_SOURCE_FINALIZER,
} from "../common/names.ts";
import {
  claim,
  DRIVER,
  persistentVolume,
  snapshotClass,
  snapshotContent,
  volumeSnapshot,
} from "../testing/objects.ts";
import { decideSnapshot, type SnapshotView } from "./decide.ts";

/** What external-snapshotter tests of its controller (TestCreateSnapshotSync, TestDeleteSync, TestSync, TestSnapshotFinalizer, TestUpdateSnapshotClass), as views and steps. */
const P = "csi.storage.k8s.io/";
const OURS = [SNAPSHOT_FINALIZER, SNAPSHOT_BOUND_FINALIZER];
const CONTENT = "snapcontent-uid-snap";
const [deletionTimestamp, CREATED, NOW] = [
  "2026-01-01T00:00:00Z",
  "2023-11-14T22:13:20Z",
  "2026-02-02T00:00:00Z",
];
const claimRef = { name: "src", namespace: "default", uid: "uid-src" };

type Status = NonNullable<VolumeSnapshot["status"]>;
/** Fields may be there and undefined, as if they were not. */
type Loose<T> = { [K in keyof T]?: T[K] | undefined };
interface Given extends Partial<SnapshotView> {
  spec?: Loose<VolumeSnapshot["spec"]>;
  metadata?: Partial<VolumeSnapshot["metadata"]>;
  status?: Status;
}
const source = { persistentVolumeClaimName: "src" };
const IMPORTED = { source: { volumeSnapshotContentName: "imported" } };
const bound = claim("src", { volumeName: "pv" }, {}, { phase: "Bound" });

function viewOf({ spec, metadata, status, ...view }: Given): SnapshotView {
  const wanted = { source, volumeSnapshotClassName: "snaps", ...spec } as VolumeSnapshot["spec"];
  return {
    ...{ driver: DRIVER, content: undefined, snapshotClass: snapshotClass(), classes: [], reclaims: true },
    ...{ managedBy: undefined, claim: bound, volume: persistentVolume("pv", { claimRef }) },
    ...{ now: NOW, patienceMs: 0, backoffMs: 0 },
    snapshot: volumeSnapshot("snap", wanted, { finalizers: OURS, ...metadata }, status),
    ...view,
  };
}
const made = (
  status?: VolumeSnapshotContent["status"],
  spec: Partial<VolumeSnapshotContent["spec"]> = {},
  metadata: object = {},
) => snapshotContent(CONTENT, { source: { volumeHandle: "handle-pv" }, ...spec }, metadata, status);
const imported = (
  status?: VolumeSnapshotContent["status"],
  spec: Partial<VolumeSnapshotContent["spec"]> = {},
  metadata: object = {},
) => snapshotContent("imported", { source: { snapshotHandle: "s" }, ...spec }, metadata, status);
const DATA = { snapshotHandle: "s", creationTime: 1.7e18, restoreSize: 1024 ** 3 };
const READY = { ...DATA, readyToUse: true };
const boundTo = (name: string, changes: Loose<Status> = {}): Status =>
  ({
    ...{ boundVolumeSnapshotContentName: name, readyToUse: true, creationTime: CREATED, restoreSize: "1Gi" },
    ...changes,
  }) as Status;
const reports = (reason: string, message: string) => ({ do: "report", reason, message });
const DONE = { do: "done" };
const MISSING = (name: string) =>
  reports("SnapshotContentMissing", `VolumeSnapshotContent ${name} is missing`);
const MISBOUND = (name: string) =>
  reports("SnapshotContentMisbound", `content ${name} belongs to another snapshot`);
const FAILED = (message: string) => reports("SnapshotContentCreationFailed", message);
const other = { name: "snap", namespace: "default", uid: "x" };
const otherName = { ...other, name: "x", uid: "uid-snap" };
const nobody = { name: "snap", namespace: "default" };
const writes = (status: Status, events: string[] = [], creating = false) => ({
  ...{ do: "write-status", status, creating, events },
});
const NEW = ["SnapshotCreated", "SnapshotReady"];

type Row = readonly [title: string, of: Given, step: object];
const withSecret = (changes: object = {}) =>
  snapshotClass({
    parameters: {
      [`${P}snapshotter-secret-name`]: "key",
      [`${P}snapshotter-secret-namespace`]: "infra",
      ...changes,
    },
  });

const CREATION: readonly Row[] = [
  [
    "one without finalizers gets them",
    { metadata: { finalizers: [] } },
    { do: "add-finalizer", finalizers: OURS },
  ],
  [
    "one with others' finalizers gets ours beside them",
    { metadata: { finalizers: ["x", SNAPSHOT_FINALIZER] } },
    { do: "add-finalizer", finalizers: [SNAPSHOT_BOUND_FINALIZER] },
  ],
  [
    "one whose data are to be kept gets one",
    { metadata: { finalizers: [] }, snapshotClass: snapshotClass({ deletionPolicy: "Retain" }) },
    { do: "add-finalizer", finalizers: [SNAPSHOT_FINALIZER] },
  ],
  ["its claim is kept", { reclaims: false }, { do: "add-finalizer-to-claim" }],
  [
    "a class that is not there",
    { snapshotClass: undefined },
    reports("GetSnapshotClassFailed", "volumesnapshotclass snaps does not exist"),
  ],
  [
    "no class, and no default",
    { spec: { volumeSnapshotClassName: undefined }, snapshotClass: undefined },
    reports("SetDefaultSnapshotClassFailed", `cannot find a default snapshot class for driver ${DRIVER}`),
  ],
  [
    "a claim that is not there",
    { claim: undefined, volume: undefined },
    reports("SnapshotPVCSourceMissing", "claim src does not exist"),
  ],
  ["a volume that is not there", { volume: undefined }, FAILED("volume pv of claim src does not exist")],
  [
    "a claim that is not bound",
    { claim: claim("src", {}, {}, { phase: "Pending" }), volume: undefined },
    FAILED("claim src is not bound"),
  ],
  [
    "a claim under deletion",
    { claim: claim("src", { volumeName: "pv" }, { deletionTimestamp }, { phase: "Bound" }) },
    FAILED("claim src is being deleted"),
  ],
  [
    "a volume of another claim",
    { volume: persistentVolume("pv", { claimRef: { ...claimRef, uid: "x" } }) },
    FAILED("volume pv is not bound to claim src"),
  ],
  [
    "a secret without a namespace",
    { snapshotClass: withSecret({ [`${P}snapshotter-secret-namespace`]: "" }) },
    FAILED(
      `${P}snapshotter-secret-name and ${P}snapshotter-secret-namespace must both be set and not be empty`,
    ),
  ],
  ["a failure is repeated after a delay", { backoffMs: 7 }, { do: "wait", afterMs: 7 }],
];
for (const [title, of, step] of CREATION)
  test(`a snapshot is asked for: ${title}`, () => assert.deepEqual(decideSnapshot(viewOf(of)), step));

const MADE: readonly (readonly [title: string, of: Given, content: object])[] = [
  ["with what the class says", {}, { spec: { volumeSnapshotClassName: "snaps", deletionPolicy: "Delete" } }],
  [
    "with the secret of the class",
    { snapshotClass: withSecret() },
    { metadata: { annotations: { [SNAPSHOT_SECRET_NAME]: "key", [SNAPSHOT_SECRET_NAMESPACE]: "infra" } } },
  ],
  [
    "with the mode of the volume",
    { claim: claim("src", { volumeName: "pv", volumeMode: "Block" }, {}, { phase: "Bound" }) },
    { spec: { sourceVolumeMode: "Block" } },
  ],
  [
    "with its claim kept already",
    {
      reclaims: false,
      claim: claim("src", { volumeName: "pv" }, { finalizers: [CLAIM_SOURCE_FINALIZER] }, { phase: "Bound" }),
    },
    {},
  ],
  ["also where a status is there without an error", { status: { readyToUse: false } }, {}],
  ["also where a status has an error", { status: { readyToUse: false, error: { message: "old" } } }, {}],
  [
    "for the node that has the volume",
    { managedBy: "n1" },
    { metadata: { labels: { "snapshot.storage.kubernetes.io/managed-by": "n1" } } },
  ],
];
function only(found: unknown, expected: unknown): unknown {
  if (typeof expected !== "object" || expected === null) return found;
  const of = (found ?? {}) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, only(of[key], value)]));
}
for (const [title, of, content] of MADE)
  test(`a content is asked for: ${title}`, () => {
    const step = decideSnapshot(viewOf(of));
    assert.ok("do" in step && step.do === "create-content", JSON.stringify(step));
    assert.deepEqual(only(step.content, content), content);
    assert.equal(step.content.metadata.name, CONTENT);
    assert.deepEqual(step.content.spec.source, { volumeHandle: "handle-pv" });
  });

const withDefault = (name: string, driver = DRIVER) =>
  snapshotClass({ metadata: { name, annotations: { [DEFAULT_SNAPSHOT_CLASS]: "true" } }, driver });
const unnamed = { spec: { volumeSnapshotClassName: undefined }, snapshotClass: undefined };
const CLASSES: readonly Row[] = [
  [
    "the default one",
    { ...unnamed, classes: [withDefault("gold"), snapshotClass()] },
    { do: "set-class", className: "gold" },
  ],
  [
    "the default one of the volume's driver",
    { ...unnamed, classes: [withDefault("gold"), withDefault("x", "x")] },
    { do: "set-class", className: "gold" },
  ],
  [
    "one that says false is none",
    {
      ...unnamed,
      classes: [
        snapshotClass({ metadata: { name: "a", annotations: { [DEFAULT_SNAPSHOT_CLASS]: "false" } } }),
      ],
    },
    reports("SetDefaultSnapshotClassFailed", `cannot find a default snapshot class for driver ${DRIVER}`),
  ],
  [
    "two",
    { ...unnamed, classes: [withDefault("gold"), withDefault("iron")] },
    reports("SetDefaultSnapshotClassFailed", `2 default snapshot classes were found for driver ${DRIVER}`),
  ],
  [
    "without the claim nobody knows",
    { ...unnamed, classes: [withDefault("gold")], claim: undefined, volume: undefined },
    reports("SnapshotPVCSourceMissing", "claim src does not exist"),
  ],
];
for (const [title, of, step] of CLASSES)
  test(`a class is chosen: ${title}`, () => assert.deepEqual(decideSnapshot(viewOf(of)), step));

const SYNC: readonly Row[] = [
  ["its content has gone", { status: boundTo(CONTENT) }, MISSING(CONTENT)],
  [
    "its content is another's",
    { content: made(READY, { volumeSnapshotRef: other }), status: boundTo(CONTENT) },
    MISBOUND(CONTENT),
  ],
  [
    "it is bound and ready at once",
    { content: made(READY), status: { readyToUse: false } },
    writes(boundTo(CONTENT), NEW),
  ],
  ["all is well", { content: made(READY), status: boundTo(CONTENT) }, DONE],
  [
    "all is well, without its class",
    { content: made(READY), status: boundTo(CONTENT), snapshotClass: undefined },
    DONE,
  ],
  [
    "it is not ready yet",
    {
      content: made({ ...DATA, readyToUse: false }),
      status: boundTo(CONTENT, { readyToUse: false }),
      reclaims: false,
      claim: claim("src", {}, { finalizers: [CLAIM_SOURCE_FINALIZER] }),
    },
    DONE,
  ],
  [
    "it has become ready",
    { content: made(READY), status: boundTo(CONTENT, { readyToUse: false }) },
    writes(boundTo(CONTENT), ["SnapshotReady"]),
  ],
  [
    "the content of its name exists already",
    { content: made(READY, { source: { snapshotHandle: "s" } }), status: { readyToUse: false } },
    reports("SnapshotContentMismatch", `content ${CONTENT} is pre-provisioned, and not made from a volume`),
  ],
  ["its status has gone", { content: made(READY) }, writes(boundTo(CONTENT), NEW)],
  [
    "its status does not say that it is ready",
    { content: made(READY), status: boundTo(CONTENT, { readyToUse: undefined }) },
    writes(boundTo(CONTENT), ["SnapshotReady"]),
  ],
  [
    "its status lacks what the content has",
    { content: made(READY), status: { readyToUse: false } },
    writes(boundTo(CONTENT), NEW),
  ],
  [
    "its content has an error",
    {
      content: made({ readyToUse: false, error: { message: "no room", time: CREATED } }),
      status: { boundVolumeSnapshotContentName: CONTENT, readyToUse: false },
      reclaims: false,
      claim: claim("src", {}, { finalizers: [CLAIM_SOURCE_FINALIZER] }),
    },
    writes({
      boundVolumeSnapshotContentName: CONTENT,
      readyToUse: false,
      error: { message: "no room", time: CREATED },
    }),
  ],
  [
    "its content has none any more",
    { content: made(READY), status: boundTo(CONTENT, { readyToUse: false, error: { message: "old" } }) },
    writes(boundTo(CONTENT), ["SnapshotReady"]),
  ],
  [
    "its content has an error, and it has no status",
    { content: made({ readyToUse: false, error: { message: "no room", time: CREATED } }), claim: undefined },
    writes({
      boundVolumeSnapshotContentName: CONTENT,
      readyToUse: false,
      error: { message: "no room", time: CREATED },
    }),
  ],
  [
    "neither has a status",
    { content: made(), claim: undefined },
    writes({ boundVolumeSnapshotContentName: CONTENT, readyToUse: false }, [], true),
  ],
  [
    "neither has a status, and the driver may take its time",
    { content: made(), patienceMs: 7 },
    { do: "wait", afterMs: 7 },
  ],
  ["it takes long, so its claim is kept", { content: made() }, { do: "add-finalizer-to-claim" }],
];
for (const [title, of, step] of SYNC)
  test(`a snapshot follows its content: ${title}`, () => assert.deepEqual(decideSnapshot(viewOf(of)), step));

const BOUND: readonly Row[] = [
  [
    "another's",
    { content: imported(READY, { volumeSnapshotRef: other }), status: boundTo("imported") },
    MISBOUND("imported"),
  ],
  [
    "another's, and it never was bound",
    { content: imported(READY, { volumeSnapshotRef: other }) },
    MISBOUND("imported"),
  ],
  [
    "one of another name",
    { content: imported(READY, { volumeSnapshotRef: otherName }) },
    MISBOUND("imported"),
  ],
  ["all is well", { content: imported(READY), status: boundTo("imported") }, DONE],
  [
    "it is bound by its UID",
    { content: imported(READY, { volumeSnapshotRef: nobody }) },
    { do: "bind-content", className: "snaps" },
  ],
  [
    "it is bound, and gets its class",
    { content: imported(READY, { volumeSnapshotClassName: undefined } as object) },
    { do: "bind-content", className: "snaps" },
  ],
  [
    "it is bound, and nobody names a class",
    {
      spec: { ...IMPORTED, volumeSnapshotClassName: undefined },
      content: imported(READY, { volumeSnapshotClassName: undefined } as object),
      status: boundTo("imported"),
    },
    DONE,
  ],
  ["it has gone", { status: boundTo("imported") }, MISSING("imported")],
  ["it never was there", {}, MISSING("imported")],
  [
    "it is made from a volume",
    { content: imported(READY, { source: { volumeHandle: "v" } }) },
    reports("SnapshotContentMismatch", "content imported has no snapshot handle in its source"),
  ],
  [
    "its status is followed",
    { content: imported(READY), status: { readyToUse: false } },
    writes(boundTo("imported"), NEW),
  ],
];
for (const [title, of, step] of BOUND)
  test(`a content that exists: ${title}`, () =>
    assert.deepEqual(decideSnapshot(viewOf({ spec: IMPORTED, ...of })), step));

const leaving = (changes: Given = {}): Given => ({
  status: boundTo(CONTENT),
  ...changes,
  metadata: { deletionTimestamp, ...changes.metadata },
});
const MARKED = { annotations: { [BEING_DELETED]: "yes" } };
const kept = { deletionPolicy: "Retain" } as const;
const exists = (changes: Given): Given =>
  leaving({ spec: IMPORTED, status: boundTo("imported"), ...changes });

const DELETION: readonly Row[] = [
  ["its content is marked first", leaving({ content: made(READY) }), { do: "mark-being-deleted" }],
  ["then its content goes", leaving({ content: made(READY, {}, MARKED) }), { do: "delete-content" }],
  ["then it waits for that", leaving({ content: made(READY, {}, { ...MARKED, deletionTimestamp }) }), DONE],
  ["then it goes", leaving({}), { do: "release" }],
  [
    "a volume is being made from it",
    leaving({ content: made(READY), metadata: { finalizers: [...OURS, SNAPSHOT_SOURCE_FINALIZER] } }),
    reports("SnapshotDeletePending", "a volume is being made from the snapshot"),
  ],
  [
    "a content that is to be kept is marked as well",
    leaving({ content: made(READY, kept) }),
    { do: "mark-being-deleted" },
  ],
  ["and stays", leaving({ content: made(READY, kept, MARKED) }), { do: "release" }],
  ["nothing was made", leaving({ status: { readyToUse: false } }), { do: "release" }],
  [
    "its content is another's",
    leaving({ content: made(READY, { volumeSnapshotRef: other }) }),
    { do: "release" },
  ],
  [
    "its content is one's of another name",
    leaving({ content: made(READY, { volumeSnapshotRef: otherName }) }),
    { do: "release" },
  ],
  ["what exists is marked first", exists({ content: imported(READY) }), { do: "mark-being-deleted" }],
  ["then what exists goes", exists({ content: imported(READY, {}, MARKED) }), { do: "delete-content" }],
  [
    "what exists and is to be kept stays",
    exists({ content: imported(READY, kept, MARKED) }),
    { do: "release" },
  ],
  ["what exists has gone", exists({}), { do: "release" }],
  [
    "what exists is another's",
    exists({ content: imported(READY, { volumeSnapshotRef: other }) }),
    { do: "release" },
  ],
  [
    "what exists is one's of another name",
    exists({ content: imported(READY, { volumeSnapshotRef: otherName }) }),
    { do: "release" },
  ],
  [
    "what exists never was bound",
    exists({ content: imported(READY, { volumeSnapshotRef: nobody }) }),
    { do: "release" },
  ],
  ["nothing of ours keeps it", leaving({ content: made(READY), metadata: { finalizers: ["x"] } }), DONE],
];
for (const [title, of, step] of DELETION)
  test(`a snapshot is deleted: ${title}`, () => assert.deepEqual(decideSnapshot(viewOf(of)), step));
