import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Widget, Widgets, widget } from "../contract/kinds.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../object/status-error.ts";
import { openStore } from "../testing/open-store.ts";

const revisionOf = (object: Widget | undefined) => Number(object?.metadata.resourceVersion);
const NAMES = ["a", "b", "c"];
const WRITES = 150;

test("a list shows exactly its revision, a read never less than was acknowledged, while writes are under way", async (t) => {
  const store = await openStore(t);
  for (const name of NAMES) await store.create(Widgets, widget(name, { size: 0 }));
  let writing = true;
  const write = async (name: string) => {
    const key = { namespace: "default", name };
    for (let size = 1; size <= WRITES; size++) {
      // The second is decided while the first is being written.
      const body = (value: number) => ({ type: "merge" as const, body: { spec: { size: value } } });
      const first = store.patch(Widgets, key, body(-size));
      await nextTurn();
      const second = store.patch(Widgets, key, body(size));
      const acknowledged = Number((await first).metadata.resourceVersion);
      const seen = await store.get(Widgets, key);
      assert.ok(Number(seen.metadata.resourceVersion) >= acknowledged, "read your writes");
      await second;
      assert.equal((await store.get(Widgets, key)).spec?.size, size);
    }
  };
  const read = async () => {
    const pictures = new Map<string, string>();
    while (writing) {
      const before = await store.get(Widgets, { namespace: "default", name: "a" });
      const { items, resourceVersion } = await store.list(Widgets);
      for (const { metadata } of items) {
        assert.ok(Number(metadata.resourceVersion) <= Number(resourceVersion), "nothing newer than the list");
      }
      const after = items.find(({ metadata }) => metadata.name === "a");
      assert.ok(revisionOf(after) >= revisionOf(before), "reads never go back");
      const picture = JSON.stringify(items);
      assert.equal(pictures.get(resourceVersion) ?? picture, picture, "one revision, one picture");
      pictures.set(resourceVersion, picture);
      await nextTurn();
    }
    return pictures.size;
  };
  const reading = [read(), read()];
  await Promise.all(NAMES.map(write));
  writing = false;
  for (const count of await Promise.all(reading)) assert.ok(count > 1);
});

test("who is refused reads what the refusal is founded on", async (t) => {
  const store = await openStore(t);
  const at = { namespace: "default", name: "a" };
  const made = await store.create(Widgets, widget("a", { size: 1 }));
  const first = store.update(Widgets, { ...made, spec: { size: 2 } });
  await assert.rejects(store.update(Widgets, { ...made, spec: { size: 3 } }), isConflict);
  assert.deepEqual((await store.get(Widgets, at)).spec, { size: 2 });
  await first;

  const gone = store.delete(Widgets, at);
  await assert.rejects(store.delete(Widgets, at), isNotFound);
  await assert.rejects(store.get(Widgets, at), isNotFound);
  await gone;

  const again = store.create(Widgets, widget("a", { size: 4 }));
  await assert.rejects(store.create(Widgets, widget("a", { size: 5 })), isAlreadyExists);
  assert.deepEqual((await store.get(Widgets, at)).spec, { size: 4 });
  await again;
});

test("a watch that selects hardly any of many events, and a list that does, let others run between them", async (t) => {
  const store = await openStore(t);
  const { resourceVersion } = store;
  for (let at = 0; at < 100; at += 1) await store.create(Widgets, widget(`other-${at}`));
  await store.create(Widgets, widget("wanted", {}, { wanted: "yes" }));
  const over = new AbortController();
  // Whatever is done takes 5 ms.
  let now = performance.now();
  t.mock.method(performance, "now", () => (now += 5));
  const turnsUntil = async (found: Promise<unknown>) => {
    let [turns, done] = [0, false];
    void found.finally(() => (done = true));
    for (; !done; turns += 1) await nextTurn();
    return turns;
  };
  const selected = { labelSelector: "wanted=yes" };
  const watch = store.watch(Widgets, { ...selected, resourceVersion, signal: over.signal });
  const watching = await turnsUntil(watch.next());
  const listing = await turnsUntil(store.list(Widgets, selected));
  t.mock.restoreAll();
  over.abort();
  await watch.return();
  assert.ok(watching >= 50, `${watching} turns of the watch`);
  assert.ok(listing >= 50, `${listing} turns of the list`);
});
