import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import type { VolumeSnapshotContent } from "@mooring/store";
import {
  BEING_CREATED,
  BEING_DELETED,
  CONTENT_FINALIZER,
  FROZEN_PARAMETERS,
  MEMBER_OF_HANDLE,
  SNAPSHOT_SECRET_NAME,
  SNAPSHOT_SECRET_NAMESPACE,
} from "../common/names.ts";
import { decideContent } from "../content/decide.ts";
import type { ContentView } from "../content/kind.ts";
import { DRIVER, snapshotClass, snapshotContent } from "../testing/objects.ts";
import { SNAPSHOT_CONTENT } from "./kind.ts";
import type { SnapshotContentTypes } from "./types.ts";

/** What external-snapshotter tests of its sidecar (TestSyncContent, TestDeleteSync, TestShouldDelete), as views and steps. */
type View = ContentView<SnapshotContentTypes>;

const finalizers = [CONTENT_FINALIZER];
const deletionTimestamp = "2026-01-01T00:00:00Z";
const [CREATED, DELETED] = [{ [BEING_CREATED]: "yes" }, { [BEING_DELETED]: "yes" }];
const READY = { snapshotHandle: "s", readyToUse: true };
const NOT_READY = { snapshotHandle: "s", readyToUse: false };
const IMPORTED = { source: { snapshotHandle: "s" } };
const UNBOUND = { ...IMPORTED, volumeSnapshotRef: { name: "snap", namespace: "default" } };
const data = { handle: "s", ready: true, creationTime: 1, sizeBytes: 1 };

/** `metadata`: but for its finalizer. */
interface Case extends Partial<Omit<View, "content">> {
  spec?: Partial<VolumeSnapshotContent["spec"]>;
  metadata?: Partial<VolumeSnapshotContent["metadata"]>;
  status?: VolumeSnapshotContent["status"];
}

function stepFor({ spec, metadata, status, ...view }: Case) {
  return decideContent(SNAPSHOT_CONTENT, {
    ...{ driver: DRIVER, contentClass: snapshotClass(), namePrefix: "snapshot" },
    ...{ result: undefined, mayExist: false, backoffMs: 0, ...view },
    content: snapshotContent("content", spec, { finalizers, ...metadata }, status),
  });
}

const failed = (code: Code): Pick<View, "result"> => ({
  result: { kind: "failed", failure: { code, message: "x" } },
});
const request = { name: "snapshot-uid-snap", sourceVolumeId: "handle", parameters: {} };
const deleting = (
  annotations: Record<string, string> = {},
  status?: VolumeSnapshotContent["status"],
): Case => ({
  metadata: { deletionTimestamp, annotations },
  ...(status && { status }),
});
const DONE = { do: "done" };

const CREATION: readonly (readonly [title: string, of: Case, step: object])[] = [
  ["one without a finalizer gets it", { metadata: { finalizers: [] } }, { do: "add-finalizer" }],
  ["it is marked before the driver is asked", {}, { do: "mark-being-created" }],
  ["the driver is asked", { metadata: { annotations: CREATED } }, { do: "create-data", request }],
  [
    "with the parameters of its class",
    {
      metadata: { annotations: CREATED },
      contentClass: snapshotClass({
        parameters: { kind: "cow", "csi.storage.k8s.io/snapshotter-secret-name": "s" },
      }),
    },
    { do: "create-data", request: { ...request, parameters: { kind: "cow" } } },
  ],
  [
    "with those of its class when it was made, and the secret on it",
    {
      metadata: {
        annotations: {
          ...{ ...CREATED, [FROZEN_PARAMETERS]: '{"kind":"old"}' },
          ...{ [SNAPSHOT_SECRET_NAME]: "key", [SNAPSHOT_SECRET_NAMESPACE]: "default" },
        },
      },
    },
    {
      do: "create-data",
      request: {
        ...{ ...request, parameters: { kind: "old" } },
        secret: { name: "key", namespace: "default" },
      },
    },
  ],
  [
    "a class that is not there is reported",
    { contentClass: undefined },
    {
      ...{ do: "report", reason: "SnapshotCreationFailed" },
      message: "volumesnapshotclass snaps does not exist",
    },
  ],
  [
    "a reserved key that there is not is reported",
    { contentClass: snapshotClass({ parameters: { "csi.storage.k8s.io/x": "y" } }) },
    {
      ...{ do: "report", reason: "SnapshotCreationFailed" },
      message:
        'found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io',
    },
  ],
  ["what is made is written down", { result: { kind: "data", data } }, { do: "write-status", data }],
  [
    "a failure that is final takes the mark off",
    { metadata: { annotations: CREATED }, ...failed(Code.INVALID_ARGUMENT) },
    { do: "clear-being-created" },
  ],
  ...(["CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"] as const).map(
    (code) =>
      [
        `a failure that is not (${code}) leaves it, and the driver is asked again`,
        { metadata: { annotations: CREATED }, ...failed(Code[code]) },
        { do: "create-data", request },
      ] as const,
  ),
  [
    "after a delay",
    { metadata: { annotations: CREATED }, ...failed(Code.UNAVAILABLE), backoffMs: 7 },
    { do: "wait", afterMs: 7 },
  ],
  [
    "a handle takes the mark off",
    { metadata: { annotations: CREATED }, status: NOT_READY },
    { do: "clear-being-created" },
  ],
  ["what is not ready is asked for again, unmarked", { status: NOT_READY }, { do: "create-data", request }],
  ["what is ready is done", { status: READY }, DONE],
  ["another driver's is left alone", { driver: "other" }, DONE],
  ["what exists is inspected", { spec: IMPORTED }, { do: "inspect-data", target: { handle: "s" } }],
  [
    "with the secret of its class",
    {
      spec: IMPORTED,
      contentClass: snapshotClass({
        parameters: {
          "csi.storage.k8s.io/snapshotter-list-secret-name": "list",
          "csi.storage.k8s.io/snapshotter-list-secret-namespace": "default",
        },
      }),
    },
    { do: "inspect-data", target: { handle: "s", secret: { name: "list", namespace: "default" } } },
  ],
  ["what exists and is ready is done", { spec: IMPORTED, status: READY }, DONE],
];

const DELETION: readonly (readonly [title: string, of: Case, step: object])[] = [
  [
    "nothing is deleted without a deletion timestamp",
    { metadata: { annotations: DELETED }, status: READY },
    DONE,
  ],
  [
    "what was never bound goes with its data",
    { ...deleting(), spec: UNBOUND },
    { do: "delete-data", target: { handle: "s" } },
  ],
  ["what is bound waits for its snapshot", deleting({}, READY), DONE],
  ["what is bound and exists, too", { ...deleting(), spec: IMPORTED }, DONE],
  ["with its snapshot it goes", deleting(DELETED, READY), { do: "delete-data", target: { handle: "s" } }],
  [
    "and what exists",
    { ...deleting(DELETED), spec: IMPORTED },
    { do: "delete-data", target: { handle: "s" } },
  ],
  [
    "with the secret on it",
    deleting({ ...DELETED, [SNAPSHOT_SECRET_NAME]: "key", [SNAPSHOT_SECRET_NAMESPACE]: "default" }, READY),
    { do: "delete-data", target: { handle: "s", secret: { name: "key", namespace: "default" } } },
  ],
  [
    "while a call may be under way it is asked for again",
    deleting({ ...DELETED, ...CREATED }),
    { do: "create-data", request },
  ],
  [
    "until that is final",
    { ...deleting({ ...DELETED, ...CREATED }), ...failed(Code.INVALID_ARGUMENT) },
    { do: "clear-being-created" },
  ],
  ["or has made it", deleting({ ...DELETED, ...CREATED }, READY), { do: "clear-being-created" }],
  ["what was never made is released", deleting(DELETED), { do: "release" }],
  [
    "what is to be kept is released",
    { ...deleting(DELETED, READY), spec: { deletionPolicy: "Retain" } },
    { do: "release" },
  ],
  [
    "what is to be kept and was never bound is released",
    { ...deleting(), spec: { ...UNBOUND, deletionPolicy: "Retain" } },
    { do: "release" },
  ],
  [
    "what is deleted is released",
    { ...deleting(DELETED, READY), result: { kind: "removed" } },
    { do: "release" },
  ],
  [
    "a failed deletion is repeated",
    { ...deleting(DELETED, READY), ...failed(Code.INTERNAL) },
    { do: "delete-data", target: { handle: "s" } },
  ],
  [
    "after a delay",
    { ...deleting(DELETED, READY), ...failed(Code.INTERNAL), backoffMs: 7 },
    { do: "wait", afterMs: 7 },
  ],
  ["a member goes with its group", deleting({ ...DELETED, [MEMBER_OF_HANDLE]: "g" }, READY), DONE],
  [
    "also where only its status says so",
    deleting(DELETED, { ...READY, volumeGroupSnapshotHandle: "g" }),
    DONE,
  ],
  [
    "what has lost its finalizer is done",
    {
      metadata: { finalizers: [], deletionTimestamp, annotations: DELETED },
      ...{ status: READY, result: { kind: "removed" } },
    },
    DONE,
  ],
];

for (const [title, of, step] of CREATION)
  test(`a content is made: ${title}`, () => assert.deepEqual(stepFor(of), step));
for (const [title, of, step] of DELETION)
  test(`a content is deleted: ${title}`, () => assert.deepEqual(stepFor(of), step));
