import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isStatus } from "../object/status-error.ts";
import type { ObjectStore, WatchEvent, WatchOptions } from "../object-store.ts";
import { type Widget, Widgets, widget } from "./kinds.ts";
import type { OpenStore } from "./open-store.ts";

const key = { namespace: "default", name: "a" };
const LIMIT_MS = 10_000;

type Seen = [type: string, name: string, size: number | undefined];

/** Takes events until there are `count`, bookmarks left out unless asked for. */
async function take(
  t: TestContext,
  store: ObjectStore,
  options: Omit<WatchOptions, "signal">,
  count: number,
): Promise<WatchEvent<Widget>[]> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new Error("the events did not come")), LIMIT_MS);
  t.after(() => clearTimeout(timer));
  const events: WatchEvent<Widget>[] = [];
  try {
    for await (const event of store.watch(Widgets, { ...options, signal: stop.signal })) {
      events.push(event);
      if (events.length === count) break;
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  return events;
}

function brief(events: WatchEvent<Widget>[]): Seen[] {
  return events.map(({ type, object }) => [type, object.metadata.name, object.spec?.size]);
}

/** Watches: order, resuming, bookmarks, expiry. Part of `objectStoreContract`. */
export function watchesContract(title: string, open: OpenStore): void {
  test(`${title}: a watch from a version delivers every event since`, async (t) => {
    const store = await open(t);
    const { resourceVersion } = await store.list(Widgets);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    await store.update(Widgets, { ...made, spec: { size: 2 } });
    const gone = await store.delete(Widgets, key);
    await store.create(Widgets, widget("b", { size: 3 }));
    const events = await take(t, store, { resourceVersion }, 4);
    assert.deepEqual(brief(events), [
      ["ADDED", "a", 1],
      ["MODIFIED", "a", 2],
      ["DELETED", "a", 2],
      ["ADDED", "b", 3],
    ]);
    const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    assert.deepEqual(
      revisions,
      [...revisions].sort((a, b) => a - b),
    );
    assert.equal(new Set(revisions).size, 4, "every change has a revision of its own, deletion too");
    assert.equal(gone.metadata.uid, made.metadata.uid);
  });

  test(`${title}: a watch sees writes as they happen`, async (t) => {
    const store = await open(t);
    const { resourceVersion } = await store.list(Widgets);
    const events = take(t, store, { resourceVersion, namespace: "default" }, 3);
    for (const name of ["a", "b", "c"]) await store.create(Widgets, widget(name));
    assert.deepEqual(
      (await events).map(({ object }) => object.metadata.name),
      ["a", "b", "c"],
    );
  });

  test(`${title}: without a version a watch begins with what is there`, async (t) => {
    const store = await open(t);
    await store.create(Widgets, widget("a", { size: 1 }));
    const events = take(t, store, {}, 2);
    await store.create(Widgets, widget("b", { size: 2 }));
    assert.deepEqual(brief(await events), [
      ["ADDED", "a", 1],
      ["ADDED", "b", 2],
    ]);
  });

  test(`${title}: initial events end with a marked bookmark`, async (t) => {
    const store = await open(t);
    await store.create(Widgets, widget("a"));
    const [added, end] = await take(t, store, { sendInitialEvents: true, allowBookmarks: true }, 2);
    assert.equal(added?.type, "ADDED");
    assert.equal(end?.type, "BOOKMARK");
    assert.equal(end?.object.metadata.annotations?.["k8s.io/initial-events-end"], "true");
    assert.match(end?.object.metadata.resourceVersion ?? "", /^\d+$/);
  });

  test(`${title}: objects come into a selection and leave it`, async (t) => {
    const store = await open(t);
    const { resourceVersion } = await store.list(Widgets);
    const body = (app: string | null) => ({ metadata: { labels: { app } } });
    await store.create(Widgets, widget("a", { size: 1 }));
    await store.create(Widgets, widget("noise", {}, { app: "web" }));
    await store.patch(Widgets, key, { type: "merge", body: body("db") });
    await store.patch(Widgets, key, { type: "merge", body: { spec: { size: 2 } } });
    await store.patch(Widgets, key, { type: "merge", body: body(null) });
    const left = await store.patch(Widgets, key, { type: "merge", body: { spec: { size: 3 } } });
    await store.patch(Widgets, key, { type: "merge", body: body("db") });
    const events = await take(t, store, { resourceVersion, labelSelector: "app=db" }, 4);
    assert.deepEqual(brief(events), [
      ["ADDED", "a", 1],
      ["MODIFIED", "a", 2],
      ["DELETED", "a", 2],
      ["ADDED", "a", 3],
    ]);
    const leaving = Number(events[2]?.object.metadata.resourceVersion);
    assert.ok(leaving < Number(left.metadata.resourceVersion));
    assert.deepEqual(events[2]?.object.metadata.labels, { app: "db" }, "the last state that belonged");
  });

  test(`${title}: a watch of one object hears of no other`, async (t) => {
    const store = await open(t);
    const { resourceVersion } = await store.list(Widgets);
    await store.create(Widgets, widget("b"));
    await store.create(Widgets, widget("a"));
    const events = await take(
      t,
      store,
      { resourceVersion, namespace: "default", fieldSelector: "metadata.name=a" },
      1,
    );
    assert.equal(events[0]?.object.metadata.name, "a");
  });

  test(`${title}: an aborted watch just ends`, async (t) => {
    const store = await open(t);
    const stop = new AbortController();
    const watching = (async () => {
      for await (const _ of store.watch(Widgets, { signal: stop.signal })) assert.fail("nothing was written");
    })();
    stop.abort();
    await watching;
  });

  test(`${title}: a version that does not exist yet is refused`, async (t) => {
    const store = await open(t);
    const watching = take(t, store, { resourceVersion: "99999999999" }, 1);
    await assert.rejects(watching, (error) => isStatus(error, "Timeout", "Expired"));
  });
}
