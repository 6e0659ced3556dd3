import assert from "node:assert/strict";
import { test } from "node:test";
import { Widgets, widget } from "../contract/kinds.ts";
import { eventually } from "../runtime/eventually.ts";
import { openStore } from "../testing/open-store.ts";
import { createInformer } from "./informer.ts";
import { WrittenCache } from "./written-cache.ts";

test("the response to a write that comes after the object's deletion does not bring it back", async (t) => {
  const store = await openStore(t);
  const widgets = createInformer(store, Widgets);
  const written = new WrittenCache(store, widgets);
  const stop = new AbortController();
  const running = widgets.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  await widgets.synced();
  const key = { namespace: "default", name: "a" };
  const made = await store.create(Widgets, widget("a"));
  await eventually("the object in the cache", () => widgets.get("default/a") !== undefined);
  const response = await store.update(Widgets, { ...made, spec: { size: 1 } });
  await store.delete(Widgets, key);
  await eventually("its deletion", () => widgets.get("default/a") === undefined);
  written.wrote(response);
  assert.equal(written.get("default/a"), undefined);
  assert.deepEqual(written.list(), []);
  const next = written.wrote(await store.create(Widgets, widget("a")));
  assert.equal(written.get("default/a")?.metadata.uid, next.metadata.uid, "another object of the same name");
});
