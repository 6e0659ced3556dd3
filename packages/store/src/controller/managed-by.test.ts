import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMaps } from "../kinds/kubernetes.ts";
import type { ObjectStore, WriteOptions } from "../object-store.ts";
import { managedBy } from "./managed-by.ts";

test("writes carry the writer's name unless they have one of their own", async () => {
  const seen: (string | undefined)[] = [];
  const note = (options?: WriteOptions) => {
    seen.push(options?.fieldManager);
    return Promise.resolve(object);
  };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "n" } };
  const target = {
    create: (_r: unknown, _o: unknown, options?: WriteOptions) => note(options),
    updateStatus: (_r: unknown, _o: unknown, options?: WriteOptions) => note(options),
    patch: (_r: unknown, _k: unknown, _p: unknown, options?: WriteOptions) => note(options),
  } as unknown as ObjectStore;
  const store = managedBy(target, "binder");
  await store.create(ConfigMaps, object);
  await store.updateStatus(ConfigMaps, object, { dryRun: true });
  await store.patch(ConfigMaps, object.metadata, { type: "merge", body: {} }, { fieldManager: "own" });
  assert.deepEqual(seen, ["binder", "binder", "own"]);
});
