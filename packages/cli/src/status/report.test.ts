import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pool, Pools } from "@mooring/engine";
import type { KubeObject, ObjectStore, Resource } from "@mooring/store";
import { watchedStore } from "../testing/watched-store.ts";
import { renderStatus } from "./render.ts";
import { statusReport } from "./report.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const POOL: Pool = {
  ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Pool", metadata: { name: "p" } },
  spec: { type: "xfs", nodeID: "node-a", path: "/p" },
};

/** A store in which a pool is open as soon as it was listed once. */
function opening(store: ObjectStore, pool: Pool): ObjectStore {
  const list = async <T extends KubeObject>(resource: Resource<T>, ...options: unknown[]) => {
    const found = await Reflect.apply(store.list<T>, store, [resource, ...options]);
    if ((resource as unknown) === Pools) {
      const conditions = [{ type: "Ready", status: "True" as const, reason: "Open", message: "" }];
      const present = await store.get(Pools, { name: pool.metadata.name });
      await store.updateStatus(Pools, { ...present, status: { ready: true, conditions } } as Pool);
    }
    return found;
  };
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = name === "list" ? list : Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

test("whatever changes meanwhile, all is only well where every pool is shown as ready", async (t) => {
  const store = await watchedStore(t);
  await store.create(Pools, POOL);
  const before = renderStatus(await statusReport(opening(store, POOL), NOW));
  assert.match(before, /NOT READY/);
  assert.doesNotMatch(before, /all is well/);
  assert.match(before, /Pool p +fail/);
  const after = renderStatus(await statusReport(store, NOW));
  assert.doesNotMatch(after, /NOT READY/);
  assert.match(after, /all is well/);
});
