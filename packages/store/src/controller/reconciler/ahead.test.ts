import assert from "node:assert/strict";
import { test } from "node:test";
import { Shelves, shelf, Widgets, widget } from "../../contract/kinds.ts";
import type { KubeObject } from "../../object/meta.ts";
import type { ObjectStore } from "../../object-store.ts";
import { openStore } from "../../testing/open-store.ts";
import { mutate } from "../mutate.ts";
import { AheadOfEvents } from "./ahead.ts";
import { atRest, lastingSleepers } from "./at-rest.ts";
import { labelOf, paint } from "./testing/paint.ts";

/** A store whose watches keep their events while `held` says so, as those of a process without a processor do. */
function late(store: ObjectStore): { store: ObjectStore; hold(): void; release(): void } {
  let held = Promise.resolve();
  let release = (): void => {};
  const hold = () => {
    held = new Promise((resolve) => {
      release = resolve;
    });
  };
  const watch: ObjectStore["watch"] = async function* (resource, options) {
    for await (const event of store.watch(resource, options)) {
      await held;
      yield event;
    }
  };
  const slow = new Proxy(store, {
    get: (target, name) => {
      if (name === "watch") return watch;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { store: slow, hold, release: () => release() };
}

async function painting(t: Parameters<typeof paint>[0], counted: () => void) {
  const real = await openStore(t);
  const { store, hold, release } = late(real);
  t.after(release);
  await real.create(Widgets, widget("w", { color: "a" }));
  await real.create(Shelves, shelf("a", { label: "first" }));
  const painted = await paint(t, store, async (_widget, { store: read }) => {
    counted();
    return labelOf(await read.get(Shelves, { name: "a" })) ?? "";
  });
  await atRest();
  hold();
  await mutate(real, Shelves, { name: "a" }, (s) => {
    s.data = { label: "second" };
  });
  return { ...painted, release };
}

test("a step whose event is on its way for longer than usual is not asleep", async (t) => {
  let reads = Number.NEGATIVE_INFINITY;
  const { phase, release } = await painting(t, () => {
    reads += 1;
    if (reads === 10) release();
  });
  reads = 0;
  assert.deepEqual(await lastingSleepers({ checks: 2 }), []);
  assert.ok(reads >= 10, `released after ${reads}`);
  await atRest();
  assert.equal(await phase("w"), "second");
});

test("a step whose event never comes is", async (t) => {
  await painting(t, () => {});
  const [found, ...others] = await lastingSleepers({ checks: 1 });
  assert.deepEqual([found?.key, found?.step, others], ["w", "write-phase", []]);
  await assert.rejects(atRest({ withinMs: 0 }), /no rest: events are on their way for .* w: write-phase/);
});

test("what a read has seen is compared with what the informers have", async (t) => {
  const at = (name: string, version: number): KubeObject => ({
    ...{ apiVersion: "v1", kind: "Widget" },
    metadata: { name, resourceVersion: String(version) },
  });
  const object = at("a", 9);
  const informer = {
    ...{ resource: Widgets, synced: async () => {}, run: async () => {}, indexers: {} },
    ...{ get: (key: string) => (key === "a" ? object : undefined), list: () => [object] },
    ...{ byIndex: () => [], onChange: () => () => {} },
  } as unknown as ConstructorParameters<typeof AheadOfEvents>[0][number];
  const ahead = (read: (notes: AheadOfEvents) => void): boolean => {
    const notes = new AheadOfEvents([informer]);
    read(notes);
    return notes.found;
  };
  const all = () => true;
  const rows: [what: string, read: (notes: AheadOfEvents) => void, expected: boolean][] = [
    ["the same version", (n) => n.live(Widgets, "a", { version: "9" }), false],
    ["an older version", (n) => n.live(Widgets, "a", { version: "8" }), false],
    ["a newer version", (n) => n.live(Widgets, "a", { version: "10" }), true],
    ["a new object", (n) => n.live(Widgets, "b", { version: "10" }), true],
    ["one that is gone", (n) => n.live(Widgets, "a", "absent"), true],
    ["one that is nowhere", (n) => n.live(Widgets, "b", "absent"), false],
    ["no response", (n) => n.live(Widgets, "a", "unknown"), false],
    ["the same value", (n) => n.live(Widgets, "a", { value: "a" }, (o) => o.metadata.name), false],
    ["another value", (n) => n.live(Widgets, "a", { value: "b" }, (o) => o.metadata.name), true],
    ["a kind that nobody follows", (n) => n.live(Shelves, "a", { version: "10" }), false],
    ["the same list", (n) => n.liveListed(Widgets, [object], all), false],
    ["a list with more", (n) => n.liveListed(Widgets, [object, at("b", 10)], all), true],
    ["a list with a newer one", (n) => n.liveListed(Widgets, [at("a", 10)], all), true],
    ["a list with less", (n) => n.liveListed(Widgets, [], all), true],
    ["a list of others", (n) => n.liveListed(Widgets, [], () => false), false],
  ];
  for (const [what, read, expected] of rows) await t.test(what, () => assert.equal(ahead(read), expected));
});
