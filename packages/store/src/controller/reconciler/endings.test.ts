import assert from "node:assert/strict";
import { test } from "node:test";
import { Shelves, shelf, type Widget, Widgets, widget } from "../../contract/kinds.ts";
import { conflict } from "../../object/errors.ts";
import { eventually } from "../../runtime/eventually.ts";
import { delay } from "../../runtime/wait.ts";
import { nothingSleeps } from "../../testing/nothing-sleeps.ts";
import { openStore } from "../../testing/open-store.ts";
import { createInformer } from "../informer.ts";
import { mutate } from "../mutate.ts";
import { atRest, findSleepers } from "./at-rest.ts";
import type { ReconcilerOptions } from "./contract.ts";
import { reconcileCounts, takeEndless } from "./metrics.ts";
import { DONE, wait } from "./outcome.ts";
import { Reconciler } from "./reconciler.ts";
import { source } from "./source.ts";
import { paint, type Step, type View } from "./testing/paint.ts";

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

test("however many conflicts there are before a write gets through, none of them counts as a step without an end", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("w"));
  // More than a decision may take steps: a store that is busy with another's write refuses ours for as long as that takes.
  const most = 41;
  let conflicts = 0;
  const { phase } = await paint(t, store, () => "done", {
    async apply(step, view) {
      if (conflicts++ < most) throw conflict(Widgets, "w");
      await store.updateStatus(Widgets, { ...view.widget, status: { phase: step.phase } });
    },
  });
  await eventually("the write to get through", async () => (await phase("w")) === "done");
  await atRest();
  assert.equal(conflicts, most + 1);
  assert.deepEqual(takeEndless(), []);
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
  assert.ok(dry.includes(true) && dry.includes(false), "who reads knows whether anything is done about it");
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

test("an object from which nothing follows asks for no key, and a wrong result of that is found", async (t) => {
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
