import assert from "node:assert/strict";
import { test } from "node:test";
import { isConflict, isNotFound, isStatus } from "../object/status-error.ts";
import { type Widget, Widgets, widget } from "./kinds.ts";
import type { OpenStore } from "./open-store.ts";

const key = { namespace: "default", name: "a" };

/** Deleting: preconditions, finalizers, propagation. Part of `objectStoreContract`. */
export function deletesContract(title: string, open: OpenStore): void {
  test(`${title}: finalizers keep a deleted object until the last is gone`, async (t) => {
    const store = await open(t);
    const blocked = widget("a", { size: 1 });
    blocked.metadata.finalizers = ["example.com/one", "example.com/two"];
    await store.create(Widgets, blocked);
    const marked = await store.delete(Widgets, key);
    assert.ok(marked.metadata.deletionTimestamp);
    assert.equal(marked.metadata.deletionGracePeriodSeconds, 0);
    const again = await store.delete(Widgets, key);
    assert.equal(again.metadata.deletionTimestamp, marked.metadata.deletionTimestamp);
    const one = await store.update(Widgets, {
      ...again,
      metadata: { ...again.metadata, finalizers: ["example.com/two"] },
    });
    assert.ok(one.metadata.deletionTimestamp);
    await store.update(Widgets, { ...one, metadata: { ...one.metadata, finalizers: [] } });
    await assert.rejects(store.get(Widgets, key), isNotFound);
  });

  test(`${title}: an object that is being deleted gets no new finalizers and cannot be revived`, async (t) => {
    const store = await open(t);
    const blocked = widget("a");
    blocked.metadata.finalizers = ["example.com/one"];
    await store.create(Widgets, blocked);
    const marked = await store.delete(Widgets, key);
    const more = [...(marked.metadata.finalizers ?? []), "example.com/late"];
    await assert.rejects(
      store.update(Widgets, { ...marked, metadata: { ...marked.metadata, finalizers: more } }),
      (error) => isStatus(error, "Invalid", "Forbidden"),
    );
    const { deletionTimestamp: _d, ...revived } = marked.metadata;
    const kept: Widget = await store.update<Widget>(Widgets, { ...marked, metadata: revived });
    assert.equal(kept.metadata.deletionTimestamp, marked.metadata.deletionTimestamp);
  });

  test(`${title}: preconditions guard a delete`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a"));
    const uid = "5b8e8a4e-0000-4000-8000-000000000000";
    await assert.rejects(store.delete(Widgets, key, { preconditions: { uid } }), isConflict);
    await store.patch(Widgets, key, { type: "merge", body: { metadata: { labels: { a: "b" } } } });
    const { uid: right = "", resourceVersion = "" } = made.metadata;
    await assert.rejects(store.delete(Widgets, key, { preconditions: { resourceVersion } }), isConflict);
    await store.delete(Widgets, key, { preconditions: { uid: right } });
    await assert.rejects(store.get(Widgets, key), isNotFound);
  });

  test(`${title}: foreground and orphan deletion leave the work to the garbage collector`, async (t) => {
    const store = await open(t);
    for (const [propagationPolicy, finalizer] of [
      ["Foreground", "foregroundDeletion"],
      ["Orphan", "orphan"],
    ] as const) {
      await store.create(Widgets, widget("a"));
      const owner = widget("a");
      owner.metadata.finalizers = ["example.com/keep"];
      // Kept by a finalizer of our own, so that a garbage collector that runs cannot finish before the test reads.
      await store.patch(Widgets, key, {
        type: "merge",
        body: { metadata: { finalizers: ["example.com/keep"] } },
      });
      const marked = await store.delete(Widgets, key, { propagationPolicy });
      assert.ok(marked.metadata.deletionTimestamp);
      assert.deepEqual(marked.metadata.finalizers, ["example.com/keep", finalizer]);
      await store.patch(Widgets, key, { type: "merge", body: { metadata: { finalizers: null } } });
      await assert.rejects(store.get(Widgets, key), isNotFound);
    }
  });

  test(`${title}: a name can be used again, by another object`, async (t) => {
    const store = await open(t);
    const first = await store.create(Widgets, widget("a"));
    await store.delete(Widgets, key);
    const second = await store.create(Widgets, widget("a"));
    assert.notEqual(second.metadata.uid, first.metadata.uid);
    await assert.rejects(store.update(Widgets, first), isConflict);
  });
}
