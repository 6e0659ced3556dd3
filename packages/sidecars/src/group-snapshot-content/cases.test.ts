import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import type { VolumeGroupSnapshotContent } from "@mooring/store";
import {
  GROUP_BEING_CREATED,
  GROUP_BEING_DELETED,
  GROUP_CONTENT_FINALIZER,
  GROUP_SECRET_NAME,
  GROUP_SECRET_NAMESPACE,
} from "../common/names.ts";
import { decideContent } from "../content/decide.ts";
import type { ContentView } from "../content/kind.ts";
import { DRIVER, groupClass, groupContent } from "../testing/objects.ts";
import { GROUP_CONTENT } from "./kind.ts";
import type { GroupContentTypes } from "./types.ts";

/** What external-snapshotter tests of groups in its sidecar (groupsnapshot_controller_test.go, csi_handler_test.go), as views and steps. */
type View = ContentView<GroupContentTypes>;
interface Case extends Partial<Omit<View, "content">> {
  spec?: Partial<VolumeGroupSnapshotContent["spec"]>;
  metadata?: Partial<VolumeGroupSnapshotContent["metadata"]>;
  status?: VolumeGroupSnapshotContent["status"];
}
const deletionTimestamp = "2026-01-01T00:00:00Z";
const [CREATED, DELETED] = [{ [GROUP_BEING_CREATED]: "yes" }, { [GROUP_BEING_DELETED]: "yes" }];
const SECRET = { [GROUP_SECRET_NAME]: "key", [GROUP_SECRET_NAMESPACE]: "infra" };
const secret = { name: "key", namespace: "infra" };
const volumeSnapshotInfoList = ["1", "2"].map((id) => ({
  ...{ volumeHandle: `vol-${id}`, snapshotHandle: `s${id}`, readyToUse: true, creationTime: 1 },
}));
const READY = { volumeGroupSnapshotHandle: "g", readyToUse: true, creationTime: "t", volumeSnapshotInfoList };
const NOT_READY = { ...READY, readyToUse: false };
const source = {
  groupSnapshotHandles: { volumeGroupSnapshotHandle: "g", volumeSnapshotHandles: ["s1", "s2"] },
};
const UNBOUND = { source, volumeGroupSnapshotRef: { name: "group", namespace: "default" } };

function stepFor({ spec, metadata, status, ...view }: Case) {
  return decideContent(GROUP_CONTENT, {
    ...{ driver: DRIVER, contentClass: groupClass(), namePrefix: "groupsnapshot" },
    ...{ result: undefined, mayExist: false, backoffMs: 0, ...view },
    content: groupContent("content", spec, { finalizers: [GROUP_CONTENT_FINALIZER], ...metadata }, status),
  });
}
const request = { name: "groupsnapshot-uid-group", sourceVolumeIds: ["vol-1", "vol-2"], parameters: {} };
const target = { groupSnapshotId: "g", snapshotIds: ["s1", "s2"] };
const failed = (code: Code): Pick<View, "result"> => ({
  result: { kind: "failed", failure: { code, message: "x" } },
});
const DONE = { do: "done" };

type Row = readonly [title: string, of: Case, step: object];
const CREATION: readonly Row[] = [
  ["one without a finalizer gets it", { metadata: { finalizers: [] } }, { do: "add-finalizer" }],
  ["it is marked before the driver is asked", {}, { do: "mark-being-created" }],
  ["the driver is asked", { metadata: { annotations: CREATED } }, { do: "create-data", request }],
  [
    "with the secret on it",
    { metadata: { annotations: { ...CREATED, ...SECRET } } },
    { do: "create-data", request: { ...request, secret } },
  ],
  [
    "half of a secret is none",
    { metadata: { annotations: { ...CREATED, [GROUP_SECRET_NAME]: "key" } } },
    { do: "create-data", request },
  ],
  [
    "a class that is not there is reported",
    { contentClass: undefined },
    {
      ...{ do: "report", reason: "GroupSnapshotCreationFailed" },
      message: "volumegroupsnapshotclass groups does not exist",
    },
  ],
  [
    "a failure that is final takes the mark off",
    { metadata: { annotations: CREATED }, ...failed(Code.INVALID_ARGUMENT) },
    { do: "clear-being-created" },
  ],
  [
    "a failure that is not leaves it",
    { metadata: { annotations: CREATED }, ...failed(Code.DEADLINE_EXCEEDED) },
    { do: "create-data", request },
  ],
  [
    "a handle says as much as the mark, which stays",
    { metadata: { annotations: CREATED }, status: READY },
    DONE,
  ],
  ["what is not ready is asked for again, unmarked", { status: NOT_READY }, { do: "inspect-data", target }],
  ["what is ready is done", { status: READY }, DONE],
  ["another driver's is left alone", { driver: "other" }, DONE],
  ["what exists is inspected", { spec: { source } }, { do: "inspect-data", target }],
  [
    "what exists and is known is inspected",
    { spec: { source }, status: NOT_READY },
    { do: "inspect-data", target },
  ],
  [
    "what exists is inspected, whatever has become of its class",
    { spec: { source }, contentClass: undefined },
    { do: "inspect-data", target },
  ],
  ["after a delay", { status: NOT_READY, backoffMs: 7 }, { do: "wait", afterMs: 7 }],
];
const deleting = (annotations: Record<string, string>, status?: Case["status"]): Case => ({
  metadata: { deletionTimestamp, annotations },
  ...(status && { status }),
});
const DELETION: readonly Row[] = [
  [
    "nothing is deleted without a deletion timestamp",
    { metadata: { annotations: DELETED }, status: READY },
    DONE,
  ],
  [
    "what was never bound goes with its data",
    { ...deleting({}), spec: UNBOUND },
    { do: "delete-data", target },
  ],
  ["what is bound waits for its group", deleting({}, READY), DONE],
  ["with its group it goes", deleting(DELETED, READY), { do: "delete-data", target }],
  ["and what exists", { ...deleting(DELETED), spec: { source } }, { do: "delete-data", target }],
  [
    "with the secret on it",
    deleting({ ...DELETED, ...SECRET }, READY),
    { do: "delete-data", target: { ...target, secret } },
  ],
  [
    "while a call may be under way it is asked for again",
    deleting({ ...DELETED, ...CREATED }),
    { do: "create-data", request },
  ],
  ["what was never made is released", deleting(DELETED), { do: "release" }],
  [
    "with a handle on record the mark delays nothing",
    deleting({ ...DELETED, ...CREATED }, READY),
    { do: "delete-data", target },
  ],
  [
    "what is to be kept is released",
    { ...deleting(DELETED, READY), spec: { deletionPolicy: "Retain" } },
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
    { do: "delete-data", target },
  ],
  [
    "what has lost its finalizer is done",
    {
      metadata: { finalizers: [], deletionTimestamp, annotations: DELETED },
      status: READY,
      result: { kind: "removed" },
    },
    DONE,
  ],
];
for (const [title, of, step] of CREATION)
  test(`a group's content is made: ${title}`, () => assert.deepEqual(stepFor(of), step));
for (const [title, of, step] of DELETION)
  test(`a group's content is deleted: ${title}`, () => assert.deepEqual(stepFor(of), step));
