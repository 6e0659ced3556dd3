import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Shelf, Shelves, shelf, type Widget, Widgets, widget } from "../../contract/kinds.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../object/status-error.ts";
import type { ObjectStore } from "../../object-store.ts";
import { openStore } from "../../testing/open-store.ts";
import { howMany } from "../../testing/sample.ts";
import { getIfAny } from "../get-if-any.ts";
import { createInformer } from "../informer.ts";
import { mutate } from "../mutate.ts";
import { WrittenCache } from "../written-cache.ts";
import { atRest } from "./at-rest.ts";
import { reconcileCounts } from "./metrics.ts";
import { DONE } from "./outcome.ts";
import { Reconciler } from "./reconciler.ts";
import { source } from "./source.ts";

const NAMES = ["a", "b", "c", "d"];
const namespace = "default";

type Change =
  | { of: "widget" | "shelf"; name: string; do: "create" | "delete" }
  | { of: "widget"; name: string; do: "paint"; color: string }
  | { of: "shelf"; name: string; do: "label"; label: string };

const name = fc.constantFrom(...NAMES);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    of: fc.constantFrom("widget" as const, "shelf" as const),
    name,
    do: fc.constantFrom("create" as const, "delete" as const),
  }),
  fc.record({ of: fc.constant("widget" as const), name, do: fc.constant("paint" as const), color: name }),
  fc.record({ of: fc.constant("shelf" as const), name, do: fc.constant("label" as const), label: name }),
);

async function make(store: ObjectStore, what: Change): Promise<void> {
  try {
    if (what.do === "create") {
      if (what.of === "widget") await store.create(Widgets, widget(what.name, { color: "a" }));
      else await store.create(Shelves, shelf(what.name, { label: "a" }));
    } else if (what.do === "delete") {
      if (what.of === "widget") await store.delete(Widgets, { namespace, name: what.name });
      else await store.delete(Shelves, { name: what.name });
    } else if (what.do === "paint") {
      await mutate(store, Widgets, { namespace, name: what.name }, (w) => {
        w.spec = { color: what.color };
      });
    } else if (what.do === "label") {
      await mutate(store, Shelves, { name: what.name }, (s) => {
        s.data = { label: what.label };
      });
    }
  } catch (error) {
    if (!isNotFound(error) && !isAlreadyExists(error)) throw error;
  }
}

/** What a widget is to show: of the shelf named as its color and of the one that its label names, and of its like. */
function phaseFor(own: Widget, shelves: ReadonlyMap<string, Shelf>, widgets: readonly Widget[]): string {
  const first = shelves.get(own.spec?.color ?? "")?.data?.["label"] ?? "-";
  const second = shelves.get(first)?.data?.["label"] ?? "-";
  const same = widgets.filter(({ spec }) => spec?.color === own.spec?.color).length;
  return [first, second, same, shelves.size].join(" ");
}

test("histories of random changes: at rest every key agrees with what it was read from, without one event filter", async (t) => {
  const store = await openStore(t);
  const stop = new AbortController();
  const widgets = createInformer(store, Widgets, { indexers: { color: ({ spec }) => [spec?.color ?? ""] } });
  const shelves = createInformer(store, Shelves);
  // Ahead of the watch by our own writes: what the watch then brings is no news, and what others wrote is.
  const written = new WrittenCache(store, widgets);
  const reconciler = new Reconciler<{ own: Widget; phase: string }, { do: "show"; phase: string }>({
    failpoints: () => {},
    name: "histories",
    store,
    sources: [source(widgets, ({ metadata }) => [metadata.name])],
    watched: [shelves],
    async read(key, { reader }) {
      const own = await getIfAny(reader.store, Widgets, { namespace, name: key });
      if (own === undefined) return undefined;
      const seen = new Map<string, Shelf>();
      const color = own.spec?.color ?? "";
      // One from the store and one from the cache, each named by what was read before.
      const first = await getIfAny(reader.store, Shelves, { name: color });
      if (first !== undefined) seen.set(color, first);
      const label = first?.data?.["label"] ?? "-";
      const second = reader.over(shelves, ({ data }) => data?.["label"]).get(label);
      const same = reader.over(written).byIndex("color", color).length;
      const count = reader.over(shelves, ({ metadata }) => metadata.name).list().length;
      return { own, phase: [label, second ?? "-", same, count].join(" ") };
    },
    decide: ({ own, phase }) => (own.status?.phase === phase ? DONE : { do: "show", phase }),
    async apply({ phase }, { own }) {
      written.wrote(await store.updateStatus(Widgets, { ...own, status: { phase } }));
    },
    isOutdated: (error) => isNotFound(error) || isConflict(error),
    backoff: { baseMs: 1, maxMs: 20, failureIntervalMs: 1 },
  });
  const running = [widgets.run(stop.signal), shelves.run(stop.signal), reconciler.run(stop.signal)];
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  const runs = howMany({ everyday: 50, full: 150, deep: 2_000 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (history, atOnce) => {
        if (atOnce) await Promise.all(history.map((each) => make(store, each)));
        else for (const each of history) await make(store, each);
        await atRest();
        const found = new Map((await store.list(Shelves)).items.map((each) => [each.metadata.name, each]));
        const { items } = await store.list(Widgets);
        for (const each of items) assert.equal(each.status?.phase, phaseFor(each, found, items));
      },
    ),
    { numRuns: runs },
  );
  assert.equal(reconcileCounts().get("histories")?.resyncFound, 0);
});
