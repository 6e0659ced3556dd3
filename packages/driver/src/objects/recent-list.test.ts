import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ENGINE_KINDS, MOORING_API_VERSION, type Pool, Pools } from "@mooring/engine";
import {
  type ListOptions,
  LocalStore,
  type ObjectStore,
  type Resource,
  ResourceRegistry,
} from "@mooring/store";
import { CREATED_AT } from "./find.ts";
import { RecentList } from "./recent-list.ts";

const pool = (name: string, createdAt: string): Pool => ({
  ...{ apiVersion: MOORING_API_VERSION, kind: "Pool" },
  metadata: { name, annotations: { [CREATED_AT]: createdAt } },
  spec: { type: "xfs", path: "/p" },
});

/** Counts how often more than one object is asked for. */
function counting(store: LocalStore): { store: ObjectStore; lists: () => number } {
  let lists = 0;
  const list = (resource: Resource<Pool>, options: ListOptions = {}) => {
    if (options.limit !== 1) lists += 1;
    return store.list(resource, options);
  };
  const counted = new Proxy<ObjectStore>(store, {
    get: (target, name) => (name === "list" ? list : Reflect.get(target, name)),
  });
  return { store: counted, lists: () => lists };
}

test("a list is read once however many pages are taken from it, and again after every change", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-list-"));
  const registry = new ResourceRegistry(ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const local = await LocalStore.open({ path: folder, registry });
  try {
    const { store, lists } = counting(local);
    const recent = new RecentList(store, Pools);
    const { signal } = new AbortController();
    const names = async () => (await recent.get(signal)).map(({ metadata }) => metadata.name);
    assert.deepEqual(await names(), []);
    await local.create(Pools, pool("later", "2026-01-02T00:00:00.000Z"));
    await local.create(Pools, pool("sooner", "2026-01-01T00:00:00.000Z"));
    assert.deepEqual(await names(), ["sooner", "later"]);
    const before = lists();
    for (let page = 0; page < 100; page++) assert.deepEqual(await names(), ["sooner", "later"]);
    assert.equal(lists(), before);
    await local.delete(Pools, { name: "sooner" });
    assert.deepEqual(await names(), ["later"]);
    assert.equal(lists(), before + 1);
  } finally {
    await local.close();
    await rm(folder, { recursive: true });
  }
});
