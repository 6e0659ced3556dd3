import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Shelves, shelf, type Widget, Widgets, widget } from "../../contract/kinds.ts";
import { conflict } from "../../object/errors.ts";
import type { ObjectStore } from "../../object-store.ts";
import { eventually } from "../../runtime/eventually.ts";
import { armFailpoint, failpointNames } from "../../runtime/failpoint.ts";
import { delay } from "../../runtime/wait.ts";
import { nothingSleeps } from "../../testing/nothing-sleeps.ts";
import { openStore } from "../../testing/open-store.ts";
import { createInformer } from "../informer.ts";
import { mutate } from "../mutate.ts";
import { WrittenCache } from "../written-cache.ts";
import { atRest, findSleepers } from "./at-rest.ts";
import type { ReconcilerOptions } from "./contract.ts";
import { reconcileCounts, takeEndless } from "./metrics.ts";
import { DONE, wait } from "./outcome.ts";
import type { Collection, Reader } from "./reader.ts";
import { Reconciler } from "./reconciler.ts";
import { source } from "./source.ts";
import { stepFailpoints } from "./step-failpoints.ts";

interface View {
  widget: Widget;
  phase: string;
}
type Step = { do: "write-phase"; phase: string };

const labelOf = ({ data }: { data?: Record<string, string> }) => data?.["label"];

/** Writes into each widget what `phaseOf` reads for it. */
async function paint(
  t: TestContext,
  store: ObjectStore,
  phaseOf: (
    widget: Widget,
    reader: Reader,
    caches: { shelves: Collection<Awaited<ReturnType<typeof shelf>>>; widgets: Collection<Widget> },
  ) => string | Promise<string>,
  more: Partial<ReconcilerOptions<View, Step>> = {},
) {
  const stop = new AbortController();
  const widgets = createInformer(store, Widgets, { indexers: { color: ({ spec }) => [spec?.color ?? ""] } });
  const shelves = createInformer(store, Shelves);
  const reconciler = new Reconciler<View, Step>({
    failpoints: () => {},
    name: `paint ${t.name}`,
    store,
    sources: [source(widgets, ({ metadata }) => [metadata.name])],
    watched: [shelves],
    async read(name, { reader }) {
      const own = await reader.store.get(Widgets, { namespace: "default", name }).catch(() => undefined);
      if (own === undefined) return undefined;
      return { widget: own, phase: await phaseOf(own, reader, { shelves, widgets }) };
    },
    decide: ({ widget: { status }, phase }) =>
      status?.phase === phase ? DONE : { do: "write-phase", phase },
    async apply({ phase }, view) {
      await store.updateStatus(Widgets, { ...view.widget, status: { phase } });
    },
    ...more,
  });
  const running = [widgets.run(stop.signal), shelves.run(stop.signal), reconciler.run(stop.signal)];
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  await Promise.all([widgets.synced(), shelves.synced()]);
  const phase = async (name: string) =>
    (await store.get(Widgets, { namespace: "default", name })).status?.phase;
  /** How often a key was taken to its end. */
  const reconciled = () => reconcileCounts().get(`paint ${t.name}`)?.reconciled;
  return { reconciler, reconciled, phase, widgets, shelves };
}

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

test("behind every step that has been applied its failpoint is passed, and behind none that throws", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  const failpoints = stepFailpoints<Step>("store/paint", { "write-phase": true });
  const passed = armFailpoint(undefined);
  let refused = 0;
  const { phase } = await paint(t, store, () => "painted", {
    failpoints,
    async apply(_, view) {
      refused += 1;
      if (refused === 1) throw new Error("refused");
      assert.deepEqual(passed, []);
      await store.updateStatus(Widgets, { ...view.widget, status: { phase: "painted" } });
    },
  });
  await eventually("the phase", async () => (await phase("w")) === "painted");
  await atRest();
  assert.deepEqual(passed, ["store/paint/write-phase"]);
});

test("failpoints of a controller are named by its steps, and of steps that write different things by these", () => {
  type Steps = { do: "open" } | { do: "record"; what: "ready" | "lost" } | { do: "refuse" } | { do: "done" };
  const pass = stepFailpoints<Steps>("store/steps", {
    open: true,
    record: { ready: true, lost: true },
    refuse: "throws",
  });
  const declared = failpointNames().filter((name) => name.startsWith("store/steps/"));
  assert.deepEqual(declared, ["store/steps/open", "store/steps/record-lost", "store/steps/record-ready"]);
  const passed = armFailpoint(undefined);
  pass({ do: "record", what: "lost" });
  pass({ do: "open" });
  assert.deepEqual(passed, ["store/steps/record-lost", "store/steps/open"]);
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

test("what was read past the reader is found at rest, and by a resync, which counts it", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w", { color: "a" }));
  const { phase } = await paint(
    t,
    store,
    async ({ spec }) => {
      const found = await store.get(Shelves, { name: spec?.color ?? "" }).catch(() => undefined);
      return found === undefined ? "none" : "there";
    },
    { resyncMs: 200 },
  );
  await atRest();
  await store.create(Shelves, shelf("a"));
  await assert.rejects(atRest({ withinMs: 0 }), /w: write-phase/);
  await eventually("a resync", () => reconcileCounts().get(`paint ${t.name}`)?.resyncFound === 1);
  await atRest();
  assert.equal(await phase("w"), "there");
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

test("a conflict leads to a fresh read, and is nobody's failure", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  let conflicts = 0;
  const fresh = new Set<string>();
  const { phase } = await paint(t, store, () => "done", {
    async read(name, context) {
      fresh.add(`${conflicts} conflicts: ${context.fresh ? "fresh" : "as it comes"}`);
      const own = await context.reader.store.get(Widgets, { namespace: "default", name });
      return { widget: own, phase: "done" };
    },
    async apply(step, view) {
      if (conflicts++ < 2) throw conflict(Widgets, "w");
      await store.updateStatus(Widgets, { ...view.widget, status: { phase: step.phase } });
    },
  });
  await atRest();
  assert.equal(await phase("w"), "done");
  const expected = [
    "0 conflicts: as it comes",
    "1 conflicts: fresh",
    "2 conflicts: fresh",
    "3 conflicts: as it comes",
  ];
  assert.deepEqual([...fresh], expected);
  assert.equal(reconcileCounts().get(`paint ${t.name}`)?.failures, 0);
  assert.equal(reconcileCounts().get(`paint ${t.name}`)?.conflicts, 2);
});

test("a fail is reported and tried again; a wait comes back by itself; a decision without end is an error", async (t) => {
  const store = await openStore(t);
  for (const name of ["unlucky", "early", "endless"]) await store.create(Widgets, widget(name));
  const errors: string[] = [];
  let late = 0;
  let failures = 0;
  const { phase } = await paint(t, store, () => "done", {
    backoff: { baseMs: 5, failureIntervalMs: 1 },
    decide({ widget: { metadata, status }, phase }) {
      if (metadata.name === "endless" && errors.length < 4)
        return { do: "write-phase", phase: String(Math.random()) };
      if (metadata.name === "unlucky" && failures++ < 3)
        return { do: "fail", code: "UNAVAILABLE", message: "not yet", hint: "wait" };
      if (metadata.name === "early" && late++ < 1) return wait(10);
      return status?.phase === phase ? DONE : { do: "write-phase", phase };
    },
    async failed(key, error) {
      errors.push(`${key}: ${String(error)}`);
    },
  });
  await eventually("all of them", () => errors.length >= 4 && late > 1);
  for (const name of ["unlucky", "early", "endless"]) {
    while ((await phase(name)) !== "done") await delay(5, AbortSignal.timeout(60_000));
  }
  assert.equal(errors.filter((error) => error === "unlucky: ReconcileFailure: not yet").length, 3);
  const last = Array(8).fill("write-phase").join(", ");
  const endless = `endless: ReconcileFailure: no rest after 40 steps; the last ones: ${last}`;
  assert.equal(errors.filter((error) => error === endless).length, 1);
  assert.equal(reconcileCounts().get(`paint ${t.name}`)?.endless, 1);
  assert.deepEqual(takeEndless(), [`paint ${t.name} ${endless.replace("ReconcileFailure: ", "")}`]);
});

test("the end of a test names the steps that came to no end before it", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("endless"));
  let steps = 0;
  const { phase } = await paint(t, store, () => "done", {
    backoff: { baseMs: 5, failureIntervalMs: 1 },
    decide({ widget: { status }, phase }) {
      if (steps++ < 45) return { do: "write-phase", phase: String(steps) };
      return status?.phase === phase ? DONE : { do: "write-phase", phase };
    },
  });
  await eventually("it has rested", async () => (await phase("endless")) === "done");
  await assert.rejects(
    nothingSleeps({ store }),
    /endless: no rest after 40 steps; the last ones: write-phase/,
  );
  assert.deepEqual(takeEndless(), [], "once");
});

test("a step that waits for somebody else, and comes again by time, is not asleep", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w", { color: "a" }));
  let tries = 0;
  await paint(t, store, () => "painted", {
    apply: async () => {
      tries += 1;
      throw new Error("another node has it");
    },
    waitsFor: () => wait(60_000),
  });
  await eventually("the first try", () => tries > 0);
  await atRest();
  assert.equal(tries, 1);
});

test("of a key that polls, the steps are asleep that are not what it polls for", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  let onDisk = "painted";
  const dry: boolean[] = [];
  const paints = (polls: readonly "write-phase"[]): Partial<ReconcilerOptions<View, Step>> => ({
    name: `polls for ${polls.length} in ${t.name}`,
    polls,
    read: async (name, context) => {
      dry.push(context.dry === true);
      const own = await context.reader.store.get(Widgets, { namespace: "default", name });
      return { widget: own, phase: onDisk };
    },
    decide: ({ widget: { status }, phase }) =>
      status?.phase === phase ? wait(3_600_000) : { do: "write-phase", phase },
  });
  const { phase } = await paint(t, store, () => "", paints(["write-phase"]));
  await eventually("the first step", async () => (await phase("w")) === "painted");
  await atRest();
  assert.ok(dry.includes(true) && dry.includes(false), "who reads is told whether anything is done about it");
  onDisk = "scratched";
  assert.deepEqual(await findSleepers(), [], "it comes by time");
  await paint(t, store, () => "", paints([]));
  await eventually("the second painter", async () => (await phase("w")) === "scratched");
  await atRest();
  onDisk = "broken";
  const sleepers = await findSleepers();
  assert.deepEqual(
    sleepers.map(({ controller, step }) => [controller, step]),
    [[`polls for 0 in ${t.name}`, "write-phase"]],
  );
  onDisk = "scratched";
});

test("keys of objects that are gone are forgotten", async (t) => {
  const store = await openStore(t);
  const { reconciler } = await paint(t, store, () => "painted");
  for (let i = 0; i < 50; i++) await store.create(Widgets, widget(`w${i}`));
  await eventually("all of them", () => reconciler.keys().size === 50);
  await atRest();
  for (let i = 0; i < 50; i++) await store.delete(Widgets, { namespace: "default", name: `w${i}` });
  await eventually("none of them", () => reconciler.keys().size === 0);
});

test("an object from which nothing follows asks for no key, and a wrong answer to that is found", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w", { color: "done" }));
  const stop = new AbortController();
  const widgets = createInformer(store, Widgets);
  const colorOf = ({ spec }: Widget) => spec?.color;
  const name = `matters ${t.name}`;
  const reconciler = new Reconciler<Widget, Step>({
    ...{ name, store, failpoints: () => {} },
    sources: [
      source(
        widgets,
        ({ metadata }) => [metadata.name],
        (each) => colorOf(each) === "due",
      ),
    ],
    read: (key, { reader }) => reader.over(widgets).get(`default/${key}`),
    isGone: (each) => colorOf(each) !== "due",
    // Of "overlooked" a step follows, and the source says that none does.
    decide: ({ spec, status }) =>
      ["due", "overlooked"].includes(spec?.color ?? "") && status?.phase !== spec?.color
        ? { do: "write-phase", phase: spec?.color ?? "" }
        : DONE,
    async apply({ phase }, view) {
      await store.updateStatus(Widgets, { ...view, status: { phase } });
    },
  });
  const running = [widgets.run(stop.signal), reconciler.run(stop.signal)];
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  const paintIn = (color: string) =>
    mutate(store, Widgets, { namespace: "default", name: "w" }, (w) => {
      w.spec = { color };
    });
  const phase = async () => (await store.get(Widgets, { namespace: "default", name: "w" })).status?.phase;
  const seen = (color: string) =>
    eventually(`${color} is in the cache`, () => widgets.get("default/w")?.spec?.color === color);
  await widgets.synced();
  await paintIn("still done");
  await seen("still done");
  await atRest({ store });
  assert.equal(reconcileCounts().get(name)?.reconciled, 0, "neither at the start nor afterwards");
  await paintIn("due");
  await eventually("the step is made", async () => (await phase()) === "due");
  await paintIn("done");
  await seen("done");
  await atRest({ store });
  assert.equal(reconciler.passOf("w"), undefined, "what was read of it is forgotten");
  await paintIn("overlooked");
  await seen("overlooked");
  assert.deepEqual(
    (await findSleepers({ store })).map(({ key, step }) => `${key} ${step}`),
    ["w write-phase"],
  );
  await paintIn("done");
  await seen("done");
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
