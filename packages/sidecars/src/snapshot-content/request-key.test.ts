import assert from "node:assert/strict";
import { test } from "node:test";
import { BEING_CREATED, BEING_DELETED, CONTENT_FINALIZER } from "../common/names.ts";
import { contentRequestKey } from "../content/decide.ts";
import type { ContentView } from "../content/kind.ts";
import { DRIVER, snapshotClass, snapshotContent } from "../testing/objects.ts";
import { SNAPSHOT_CONTENT } from "./kind.ts";
import type { SnapshotContentTypes } from "./types.ts";

/** What external-snapshotter tests of changes that wake a content (TestShouldEnqueueContentChange): here they end a delay, or not. */
type View = ContentView<SnapshotContentTypes>;
const base: View = {
  ...{
    driver: DRIVER,
    content: snapshotContent("content"),
    contentClass: snapshotClass(),
    namePrefix: "snapshot",
  },
  ...{ result: undefined, mayExist: false, backoffMs: 0 },
};
const of = (
  ...changed: Parameters<typeof snapshotContent> extends [string, ...infer Rest] ? Rest : never
) => ({
  content: snapshotContent("content", ...changed),
});
const noted = (annotations: Record<string, string>) => of({}, { annotations });
const WRITER = {
  ...{ manager: "x", operation: "Update" as const, apiVersion: "v1", fieldsV1: {} },
  fieldsType: "FieldsV1" as const,
};

const KEYS: readonly (readonly [title: string, changes: Partial<View>, ends: boolean])[] = [
  ["nothing", {}, false],
  ["another class on it", of({ volumeSnapshotClassName: "other" }), true],
  ["other parameters of its class", { contentClass: snapshotClass({ parameters: { a: "b" } }) }, true],
  ["an error", of({}, {}, { readyToUse: false, error: { message: "x" } }), false],
  ["a finalizer", of({}, { finalizers: [CONTENT_FINALIZER] }), false],
  ["who has written which field", of({}, { managedFields: [WRITER] }), false],
  ["our mark", noted({ [BEING_CREATED]: "yes" }), false],
  ["an annotation of somebody else", noted({ a: "b" }), false],
  ["the mark of its deletion", noted({ [BEING_DELETED]: "yes" }), true],
  ["its deletion", of({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), true],
  ["a handle", of({}, {}, { snapshotHandle: "s", readyToUse: true }), true],
];
for (const [title, changes, ends] of KEYS)
  test(`the delay after a failure of a content is ${ends ? "ended" : "kept"} by ${title}`, () => {
    const key = (view: View) => contentRequestKey(SNAPSHOT_CONTENT, view);
    assert.equal(key({ ...base, ...changes }) !== key(base), ends);
  });
