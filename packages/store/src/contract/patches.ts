import assert from "node:assert/strict";
import { test } from "node:test";
import { isConflict, isNotFound, isStatus } from "../object/status-error.ts";
import { Widgets, widget } from "./kinds.ts";
import type { OpenStore } from "./open-store.ts";

const key = { namespace: "default", name: "a" };

/** JSON, merge and strategic patches. Part of `objectStoreContract`. */
export function patchesContract(title: string, open: OpenStore): void {
  test(`${title}: merge patches add, replace and remove`, async (t) => {
    const store = await open(t);
    await store.create(Widgets, widget("a", { size: 1, color: "red" }, { app: "db" }));
    const body = { metadata: { labels: { app: null, tier: "front" } }, spec: { color: "blue" } };
    const patched = await store.patch(Widgets, key, { type: "merge", body });
    assert.deepEqual(patched.spec, { size: 1, color: "blue" });
    assert.deepEqual(patched.metadata.labels, { tier: "front" });
    assert.equal(patched.metadata.generation, 2);
  });

  test(`${title}: JSON patches apply as a whole or not at all`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    const body = [
      { op: "test", path: "/spec/size", value: 1 },
      { op: "replace", path: "/spec/size", value: 2 },
      { op: "add", path: "/metadata/labels", value: { "a/b": "c" } },
    ];
    const patched = await store.patch(Widgets, key, { type: "json", body });
    assert.deepEqual([patched.spec, patched.metadata.labels], [{ size: 2 }, { "a/b": "c" }]);
    const failing = store.patch(Widgets, key, {
      type: "json",
      body: [{ op: "replace", path: "/spec/size", value: 3 }, ...body],
    });
    await assert.rejects(failing, (error) => isStatus(error, "Invalid"));
    assert.equal((await store.get(Widgets, key)).spec?.size, 2);
    assert.equal(made.spec?.size, 1);
  });

  test(`${title}: a patch of status touches nothing else`, async (t) => {
    const store = await open(t);
    await store.create(Widgets, widget("a", { size: 1 }));
    const body = { spec: { size: 5 }, status: { phase: "Up" } };
    const patched = await store.patch(Widgets, key, { type: "merge", body }, { subresource: "status" });
    assert.deepEqual([patched.spec, patched.status], [{ size: 1 }, { phase: "Up" }]);
  });

  test(`${title}: a patch may demand a version`, async (t) => {
    const store = await open(t);
    const made = await store.create(Widgets, widget("a", { size: 1 }));
    const resourceVersion = made.metadata.resourceVersion;
    const body = (size: number) => ({ metadata: { resourceVersion }, spec: { size } });
    await store.patch(Widgets, key, { type: "merge", body: body(2) });
    await assert.rejects(store.patch(Widgets, key, { type: "merge", body: body(3) }), isConflict);
  });

  test(`${title}: patches cannot rename, and need an object`, async (t) => {
    const store = await open(t);
    const rename = { type: "merge", body: { metadata: { name: "b" } } } as const;
    await assert.rejects(store.patch(Widgets, key, rename), isNotFound);
    await store.create(Widgets, widget("a"));
    await assert.rejects(store.patch(Widgets, key, rename), (error) =>
      isStatus(error, "BadRequest", "Invalid"),
    );
  });
}
