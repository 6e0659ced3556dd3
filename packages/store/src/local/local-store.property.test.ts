import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Widget, Widgets, widget } from "../contract/kinds.ts";
import { mutate } from "../controller/mutate.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../object/status-error.ts";
import { openStore } from "../testing/open-store.ts";
import { howMany } from "../testing/sample.ts";
import type { LocalStore } from "./local-store.ts";

const NAMES = ["a", "b", "c", "d"];
const APPS = ["x", "y"];
const RUNS = { numRuns: howMany({ everyday: 15, full: 40, deep: 800 }) };

type Step =
  | { do: "put"; name: string; app: string | null; size: number }
  | { do: "delete"; name: string }
  | { do: "keep"; name: string }
  | { do: "release"; name: string }
  | { do: "settle" };

const name = fc.constantFrom(...NAMES);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("put" as const),
      name,
      app: fc.constantFrom(...APPS, null),
      size: fc.nat(3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("keep" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release" as const), name }) },
  { weight: 2, arbitrary: fc.constant({ do: "settle" as const }) },
);

/** Starts the step; steps between two "settle" run into each other. */
async function carryOut(store: LocalStore, action: Step): Promise<void> {
  if (action.do === "settle") return;
  const key = { namespace: "default", name: action.name };
  const patch = (body: unknown) => store.patch(Widgets, key, { type: "merge", body });
  try {
    if (action.do === "delete") await store.delete(Widgets, key);
    else if (action.do === "keep") await patch({ metadata: { finalizers: ["example.com/keep"] } });
    else if (action.do === "release") await patch({ metadata: { finalizers: null } });
    else await put(store, action);
  } catch (error) {
    // A finalizer cannot be added to what is being deleted; the rest are races that steps may lose.
    if (!isNotFound(error) && !isAlreadyExists(error) && !/no new finalizers/.test(String(error)))
      throw error;
  }
}

async function put(store: LocalStore, { name, app, size }: Extract<Step, { do: "put" }>): Promise<void> {
  const body = { metadata: { labels: { app } }, spec: { size } };
  try {
    await store.patch(Widgets, { namespace: "default", name }, { type: "merge", body });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await store.create(Widgets, widget(name, { size }, app === null ? {} : { app }));
  }
}

async function picture(store: LocalStore, labelSelector: string, resourceVersion?: string) {
  const exact =
    resourceVersion === undefined ? {} : ({ resourceVersion, resourceVersionMatch: "Exact" } as const);
  const { items } = await store.list(Widgets, { labelSelector, ...exact });
  return new Map(items.map((item) => [item.metadata.name, item]));
}

/** Applies the events to the picture as an informer would, and checks that each fits. */
async function replay(store: LocalStore, labelSelector: string, from: string, base: Map<string, Widget>) {
  const stop = new AbortController();
  const last = store.resourceVersion;
  let revision = Number(from);
  const options = { labelSelector, resourceVersion: from, allowBookmarks: true, signal: stop.signal };
  const end = await store.create(Widgets, widget("end", {}, { app: "x" }));
  for await (const { type, object } of store.watch(Widgets, {
    ...options,
    labelSelector: `${labelSelector}`,
  })) {
    const { name, resourceVersion } = object.metadata;
    if (resourceVersion === end.metadata.resourceVersion) break;
    assert.ok(Number(resourceVersion) > revision, "events come in order, none twice");
    revision = Number(resourceVersion);
    assert.equal(base.has(name), type !== "ADDED", `${type} ${name} fits what was there`);
    if (type === "DELETED") base.delete(name);
    else base.set(name, object);
  }
  stop.abort();
  assert.ok(revision <= Number(last));
  return base;
}

test("from any point of any history, list plus watch gives the list of the end", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.nat(),
      fc.constantFrom("app=x", "app!=y", "app"),
      async (steps, seed, selector) => {
        const store = await openStore(t);
        const revisions = [store.resourceVersion];
        let running: Promise<void>[] = [];
        for (const action of steps) {
          running.push(carryOut(store, action));
          if (action.do !== "settle") continue;
          await Promise.all(running);
          running = [];
          revisions.push(store.resourceVersion);
        }
        await Promise.all(running);
        const from = revisions[seed % revisions.length] ?? "1";
        const final = await picture(store, selector);
        const replayed = await replay(store, selector, from, await picture(store, selector, from));
        assert.deepEqual(sorted(replayed), sorted(final));
      },
    ),
    RUNS,
  );
});

function sorted(objects: Map<string, Widget>): Widget[] {
  return [...objects.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

test("no update is lost, however many writers there are", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 40 }),
      async (increments) => {
        const store = await openStore(t);
        for (const name of ["a", "b"]) await store.create(Widgets, widget(name, { size: 0 }));
        const grow = (object: Widget) => ({ ...object, spec: { size: (object.spec?.size ?? 0) + 1 } });
        await Promise.all(
          increments.map((name) =>
            mutate(store, Widgets, { namespace: "default", name }, { change: grow, attempts: 1000 }),
          ),
        );
        for (const name of ["a", "b"]) {
          const { spec, metadata } = await store.get(Widgets, { namespace: "default", name });
          const expected = increments.filter((each) => each === name).length;
          assert.equal(spec?.size, expected);
          assert.equal(metadata.generation, 1 + expected);
        }
      },
    ),
    RUNS,
  );
});

test("a stale write never wins, a fresh one always does", async (t) => {
  const version = fc.nat(5);
  await fc.assert(
    fc.asyncProperty(fc.array(version, { maxLength: 20 }), async (choices) => {
      const store = await openStore(t);
      const versions = [await store.create(Widgets, widget("a", { size: 0 }))];
      for (const [index, choice] of choices.entries()) {
        const isFresh = choice >= versions.length || choice === versions.length - 1;
        const base = versions[Math.min(choice, versions.length - 1)] ?? widget("a");
        const write = store.update(Widgets, { ...base, spec: { size: index + 1 } });
        if (isFresh) versions.push(await write);
        else await assert.rejects(write, isConflict);
      }
    }),
    RUNS,
  );
});
