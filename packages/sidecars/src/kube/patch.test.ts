import assert from "node:assert/strict";
import { test } from "node:test";
import { defined, type KubeObject, type ObjectStore, type PersistentVolume } from "@mooring/store";
import { persistentVolume } from "../testing/objects.ts";
import type { ObjectCache } from "./cache.ts";
import { type MetadataChange, patchMetadata } from "./patch.ts";

/** What external-attacher tests of its patches of finalizers (TestAddFinalizerPatch, TestRemoveFinalizerPatch). */
const OURS = "external-attacher/x";
const ADD: MetadataChange = { addFinalizers: [OURS] };
const REMOVE: MetadataChange = { removeFinalizers: [OURS] };

const ROWS: readonly (readonly [
  title: string,
  before: string[] | undefined,
  change: MetadataChange,
  after: string[],
])[] = [
  ["the first", undefined, ADD, [OURS]],
  ["the first of an empty list", [], ADD, [OURS]],
  ["one more", ["a", "b"], ADD, ["a", "b", OURS]],
  ["one that is there already", ["a", OURS], ADD, ["a", OURS]],
  ["the only one goes", [OURS], REMOVE, []],
  ["the first of many goes", [OURS, "a", "b"], REMOVE, ["a", "b"]],
  ["the middle one goes", ["a", OURS, "b"], REMOVE, ["a", "b"]],
  ["the last goes", ["a", "b", OURS], REMOVE, ["a", "b"]],
  ["one that is not there goes", ["a", "b"], REMOVE, ["a", "b"]],
  ["one of no list goes", undefined, REMOVE, []],
];

/** The patch that is sent, and which of the cache's methods hears of it. */
async function sent(object: PersistentVolume, change: MetadataChange) {
  const bodies: { metadata: KubeObject["metadata"] }[] = [];
  const heard: string[] = [];
  const patch = (_resource: unknown, _key: unknown, { body }: { body: unknown }) => {
    bodies.push(body as { metadata: KubeObject["metadata"] });
    return Promise.resolve(object);
  };
  const note = (name: string) => (found: unknown) => {
    heard.push(name);
    return found;
  };
  const cache = {
    resource: {},
    wrote: note("wrote"),
    gone: note("gone"),
  } as unknown as ObjectCache<PersistentVolume>;
  await patchMetadata({ patch } as unknown as ObjectStore, cache, object, change);
  return { metadata: bodies[0]?.metadata, heard: heard.join() };
}

for (const [title, before, change, after] of ROWS)
  test(`finalizers of an object: ${title}`, async () => {
    const object = persistentVolume("pv", {}, defined({ finalizers: before }));
    const { metadata } = await sent(object, change);
    // With the version that it was computed from: a list is replaced as a whole.
    assert.deepEqual(metadata, { uid: "uid-pv", resourceVersion: "1", finalizers: after });
  });

test("annotations of others stay, whatever version they have by now", async () => {
  const { metadata } = await sent(persistentVolume("pv"), { annotations: { ours: null, more: "x" } });
  assert.deepEqual(metadata, { uid: "uid-pv", annotations: { ours: null, more: "x" } });
});

test("an object under deletion that loses its last finalizer is gone from the cache at once", async () => {
  const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const last = await sent(persistentVolume("pv", {}, { ...leaving, finalizers: [OURS] }), REMOVE);
  assert.equal(last.heard, "gone");
  const more = await sent(persistentVolume("pv", {}, { ...leaving, finalizers: [OURS, "a"] }), REMOVE);
  assert.equal(more.heard, "wrote");
  const staying = await sent(persistentVolume("pv", {}, { finalizers: [OURS] }), REMOVE);
  assert.equal(staying.heard, "wrote", "nobody deletes it");
});
