import assert from "node:assert/strict";
import { Session } from "node:inspector";
import { test } from "node:test";
import { Shelves, shelf, type Widget, Widgets, widget } from "../contract/kinds.ts";
import { allInParallel } from "../runtime/in-parallel.ts";
import { openStore } from "../testing/open-store.ts";
import { thorough } from "../testing/sample.ts";
import { getIfAny } from "./get-if-any.ts";
import { createInformer } from "./informer.ts";
import { atRest } from "./reconciler/at-rest.ts";
import { DONE } from "./reconciler/outcome.ts";
import { Reconciler } from "./reconciler/reconciler.ts";
import { source } from "./reconciler/source.ts";
import { WrittenCache } from "./written-cache.ts";

const LIVES = 2_000;
/** Bytes that a life may leave. What a controller remembers of one key is thousands; that of V8 changes by some hundred thousand in all. */
const PER_LIFE = 512;
/** So little history that it is full long before the first measurement. */
const HISTORY = { events: 64 };

/** Of the heap, when all garbage has been collected. */
async function heapBytes(): Promise<number> {
  const session = new Session();
  session.connect();
  await new Promise<void>((resolve) => session.post("HeapProfiler.collectGarbage", () => resolve()));
  session.disconnect();
  return process.memoryUsage().heapUsed;
}

test(
  "objects that have come and gone leave nothing in the store, its caches and its controllers",
  thorough(),
  async (t) => {
    const store = await openStore(t, { history: HISTORY });
    const stop = new AbortController();
    const widgets = createInformer(store, Widgets, {
      indexers: { color: ({ spec }) => [spec?.color ?? ""] },
    });
    const shelves = createInformer(store, Shelves);
    const written = new WrittenCache(store, widgets);
    const reconciler = new Reconciler<Widget, { do: "show" }>({
      ...{ name: "leaks", store, failpoints: () => {} },
      sources: [source(widgets, ({ metadata }) => [metadata.name])],
      watched: [shelves],
      // One shelf that is there for a while, one that never is, and an index: each is remembered as read.
      read: async (name, { reader }) => {
        const found = reader.over(written).get(`default/${name}`);
        reader.over(widgets).byIndex("color", name);
        for (const shelfName of [name, `no-${name}`])
          await getIfAny(reader.store, Shelves, { name: shelfName });
        return found;
      },
      decide: ({ status }) => (status?.phase === "shown" ? DONE : { do: "show" }),
      apply: async (_step, view) => {
        written.wrote(await store.updateStatus(Widgets, { ...view, status: { phase: "shown" } }));
      },
    });
    const running = [widgets.run(stop.signal), shelves.run(stop.signal), reconciler.run(stop.signal)];
    t.after(async () => {
      stop.abort();
      await Promise.all(running);
    });
    await Promise.all([widgets.synced(), shelves.synced()]);

    let lives = 0;
    const live = async (): Promise<void> => {
      const names = Array.from({ length: 50 }, () => `life-${lives++}`);
      await allInParallel(names, async (name) => {
        await store.create(Widgets, widget(name, { color: name }));
        await store.create(Shelves, shelf(name));
      });
      await atRest();
      for (const { status } of (await store.list(Widgets)).items) assert.equal(status?.phase, "shown");
      await allInParallel(names, async (name) => {
        written.deleted(await store.delete(Widgets, { namespace: "default", name }));
        await store.delete(Shelves, { name });
      });
      await atRest();
    };
    const after = async (until: number): Promise<number> => {
      while (lives < until) await live();
      return heapBytes();
    };
    const before = await after(LIVES / 2);
    const grown = (await after(LIVES / 2 + LIVES)) - before;
    assert.ok(grown < LIVES * PER_LIFE, `${LIVES} lives have left ${grown} bytes`);
  },
);
