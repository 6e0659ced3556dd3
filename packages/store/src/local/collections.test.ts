import assert from "node:assert/strict";
import { test } from "node:test";
import { type Widget, Widgets, widget } from "../contract/kinds.ts";
import { conflict } from "../object/errors.ts";
import type { UnstructuredObject } from "../object/meta.ts";
import { openStore } from "../testing/open-store.ts";

const sizeOf = (object: UnstructuredObject): number =>
  Number((object.spec as { size?: number } | undefined)?.size ?? 0);

test("a rule about all objects of a namespace sees every write that was decided before", async (t) => {
  const store = await openStore(t);
  const definition = store.registry.get(Widgets);
  store.registry.register({
    ...definition,
    strategy: {
      create(object, { collect }) {
        const sizes = collect?.(Widgets, object.metadata.namespace, sizeOf).values() ?? [];
        if ([...sizes].reduce((sum, size) => sum + size, sizeOf(object)) > 10)
          throw conflict(Widgets, "full");
        return object;
      },
    },
  });
  const create = (name: string, size: number, namespace = "default") => {
    const made: Widget = widget(name, { size });
    return store.create(Widgets, { ...made, metadata: { ...made.metadata, namespace } });
  };
  await create("before", 4);
  const results = await Promise.allSettled(["a", "b", "c", "d"].map((name) => create(name, 2)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "fulfilled", "fulfilled", "rejected"],
  );
  await create("elsewhere", 10, "other");
  await assert.rejects(create("e", 1), /full/);
  const old = await store.get(Widgets, { namespace: "default", name: "a" });
  await store.update(Widgets, { ...old, spec: { size: 1 } });
  await create("e", 1);
  await store.delete(Widgets, { namespace: "default", name: "before" });
  await create("f", 4);
  await assert.rejects(create("g", 1), /full/);
});
