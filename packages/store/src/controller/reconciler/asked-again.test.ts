import assert from "node:assert/strict";
import { test } from "node:test";
import { Shelves, shelf, Widgets, widget } from "../../contract/kinds.ts";
import { eventually } from "../../runtime/eventually.ts";
import { openStore } from "../../testing/open-store.ts";
import { createInformer } from "../informer.ts";
import { mutate } from "../mutate.ts";
import { WrittenCache } from "../written-cache.ts";
import { atRest, findSleepers } from "./at-rest.ts";
import { DONE } from "./outcome.ts";
import { Reconciler } from "./reconciler.ts";
import { source } from "./source.ts";
import { labelOf, paint } from "./testing/paint.ts";

test("a key comes again when an object that it has read changes, comes or goes, and only then", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w", { color: "a" }));
  await store.create(Widgets, widget("other", { color: "b" }));
  const { phase, reconciled } = await paint(t, store, async ({ spec }, reader) => {
    const found = await reader.store.get(Shelves, { name: spec?.color ?? "" }).catch(() => undefined);
    return found === undefined ? "none" : (labelOf(found) ?? "");
  });
  await atRest();
  assert.equal(await phase("w"), "none");
  await store.create(Shelves, shelf("a", { label: "first" }));
  await atRest();
  assert.equal(await phase("w"), "first");
  await mutate(store, Shelves, { name: "a" }, (s) => {
    s.data = { label: "second" };
  });
  await atRest();
  assert.equal(await phase("w"), "second");
  // Another kind of event that nobody has read about.
  await store.create(Shelves, shelf("unread"));
  await store.delete(Shelves, { name: "a" });
  await atRest();
  assert.equal(await phase("w"), "none");
  assert.equal(reconciled(), 5, "the other widget only once");
});

test("our own write does not bring a key back", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  const { reconciled, reconciler, widgets } = await paint(t, store, () => "painted");
  await eventually("the event of the write", () => widgets.get("default/w")?.status?.phase === "painted");
  await atRest();
  assert.equal(reconciled(), 1);
  reconciler.add("w");
  await eventually("the one that was asked for", () => reconciled() === 2);
});

test("a projected read is woken by what it sees of the object, and by nothing else", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w", { color: "a" }));
  await store.create(Shelves, shelf("a", { label: "x", heartbeat: "0" }));
  const { phase, reconciled, shelves } = await paint(
    t,
    store,
    ({ spec }, reader, caches) =>
      reader.over(caches.shelves as typeof shelves, labelOf).get(spec?.color ?? "") ?? "none",
  );
  await atRest();
  const before = reconciled();
  for (let beat = 1; beat < 10; beat++) {
    await mutate(store, Shelves, { name: "a" }, (s) => {
      s.data = { ...s.data, heartbeat: String(beat) };
    });
  }
  await eventually("the last beat", () => shelves.get("a")?.data?.["heartbeat"] === "9");
  await atRest();
  assert.equal(reconciled(), before);
  await mutate(store, Shelves, { name: "a" }, (s) => {
    s.data = { label: "y" };
  });
  await eventually("the new label", () => shelves.get("a")?.data?.["label"] === "y");
  await atRest();
  assert.equal(await phase("w"), "y");
});

test("of a live read only the part counts that was asked for", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  await store.create(Shelves, shelf("a", { label: "x", heartbeat: "0" }));
  const { phase, reconciled, shelves } = await paint(
    t,
    store,
    async (_, reader) => (await reader.get(Shelves, { name: "a" }, labelOf)) ?? "none",
  );
  await atRest();
  const before = reconciled();
  const put = async (data: Record<string, string>): Promise<void> => {
    await mutate(store, Shelves, { name: "a" }, (s) => {
      s.data = data;
    });
    await eventually("the event", () => JSON.stringify(shelves.get("a")?.data) === JSON.stringify(data));
    await atRest();
  };
  await put({ label: "x", heartbeat: "1" });
  assert.equal(reconciled(), before);
  await put({ label: "y", heartbeat: "1" });
  assert.equal(await phase("w"), "y");
  await store.delete(Shelves, { name: "a" });
  await atRest();
  assert.equal(await phase("w"), "none");
});

test("lists and indexes wake those who read them", async (t) => {
  const store = await openStore(t);
  for (const name of ["one", "two"]) await store.create(Widgets, widget(name, { color: "red" }));
  const { phase, widgets } = await paint(t, store, ({ spec }, reader, caches) => {
    const same = reader.over(caches.widgets as typeof widgets).byIndex("color", spec?.color ?? "").length;
    return `${same} of ${reader.over(caches.shelves as typeof shelves).list().length}`;
  });
  const shelves = createInformer(store, Shelves);
  await atRest();
  assert.equal(await phase("one"), "2 of 0");
  await mutate(store, Widgets, { namespace: "default", name: "two" }, (w) => {
    w.spec = { color: "blue" };
  });
  await eventually("the index", () => widgets.byIndex("color", "blue").length === 1);
  await atRest();
  assert.deepEqual([await phase("one"), await phase("two")], ["1 of 0", "1 of 0"]);
  assert.equal(shelves.list().length, 0);
});

test("a change between a request and its response is not slept through", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w", { color: "a" }));
  await store.create(Shelves, shelf("a", { label: "old" }));
  let asked = 0;
  const slow = {
    list: store.list.bind(store),
    get: async (...request: Parameters<typeof store.get>) => {
      const response = await store.get(...request);
      // The last read, the one that finds nothing to do.
      if (request[0].plural !== Shelves.plural || ++asked !== 2) return response;
      await store.update(Shelves, { ...response, ...shelf("a", { label: "new" }) });
      await eventually("the event", () => shelves.get("a")?.data?.["label"] === "new");
      return response;
    },
  };
  const { phase, shelves } = await paint(
    t,
    store,
    async (_, reader) => labelOf(await reader.store.get(Shelves, { name: "a" })) ?? "",
    { store: slow as typeof store },
  );
  await atRest();
  assert.equal(await phase("w"), "new");
});

test("what is no object is a topic", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  let open = false;
  const { reconciler, phase } = await paint(t, store, (_, reader) => {
    reader.topic("door");
    return open ? "open" : "shut";
  });
  await atRest();
  open = true;
  assert.equal((await findSleepers()).length, 1, "nothing has reported it");
  reconciler.changed("door");
  await atRest();
  assert.equal(await phase("w"), "open");
});

test("a key that waits for a topic alone, and has nothing to do before, comes again with it", async (t) => {
  const store = await openStore(t);
  const arrived = new Set<string>();
  const { reconciler } = await paint(t, store, () => "painted", {
    keys: () => ["left-on-disk"],
    read: (name, { reader }) => {
      reader.topic("door");
      return arrived.has(name) ? { widget: widget(name), phase: "painted" } : undefined;
    },
    async apply(_, { widget: { metadata } }) {
      arrived.delete(metadata.name);
    },
  });
  await atRest();
  arrived.add("left-on-disk");
  reconciler.changed("door");
  await eventually("the step", () => arrived.size === 0);
});

test("a kind that is not watched cannot be read, so that nothing waits for news that never comes", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  const failures: unknown[] = [];
  await paint(t, store, (_, reader) => String(reader.over(createInformer(store, Shelves)).list().length), {
    failed: async (_, error) => void failures.push(error),
  });
  await eventually("a failure", () => failures.length > 0);
  assert.match(String(failures[0]), /reads shelves from an informer that it does not watch/);
});

test("an index that a read has seen ahead of the watch is no news, and what others write into it is", async (t) => {
  const store = await openStore(t);
  const name = `ahead ${t.name}`;
  const stop = new AbortController();
  const widgets = createInformer(store, Widgets, { indexers: { color: ({ spec }) => [spec?.color ?? ""] } });
  const shelves = createInformer(store, Shelves);
  const written = new WrittenCache(store, widgets);
  const counts: number[] = [];
  const reconciler = new Reconciler<number, { do: "add" }>({
    ...{ name, store, failpoints: () => {} },
    sources: [source(shelves, ({ metadata }) => [metadata.name])],
    watched: [widgets],
    read(color, { dry, reader }) {
      const { length } = reader.over(written).byIndex("color", color);
      if (dry !== true) counts.push(length);
      return length;
    },
    decide: (found) => (found === 0 ? { do: "add" } : DONE),
    async apply() {
      written.wrote(await store.create(Widgets, widget("ours", { color: "a" })));
    },
  });
  const running = [widgets.run(stop.signal), shelves.run(stop.signal), reconciler.run(stop.signal)];
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  await store.create(Shelves, shelf("a"));
  await eventually("our own is in the cache", () => widgets.get("default/ours") !== undefined);
  await atRest({ store });
  assert.deepEqual(counts, [0, 1], "the watch brings what the second read has seen");
  await store.create(Widgets, widget("theirs", { color: "a" }));
  await eventually("theirs is seen", () => counts.at(-1) === 2);
  await store.delete(Widgets, { namespace: "default", name: "ours" });
  await eventually("the deletion is seen", () => counts.at(-1) === 1);
});
