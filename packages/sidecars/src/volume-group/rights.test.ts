import assert from "node:assert/strict";
import { test } from "node:test";
import { type LocalStore, type ObjectStore, type Resource, StatusError } from "@mooring/store";
import { VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import { EVERY_CONTROLLER, WRITES } from "../rights/writes.ts";
import { at, joined, makeGroup, startWorld } from "./testing/world.ts";

/** A server that grants what a role made of the operator's own list grants, and nothing else. */
function withOwnRights(store: LocalStore, used: Set<string>): ObjectStore {
  const reported = new Set(
    [...WRITES["volume-group"], ...EVERY_CONTROLLER].flatMap(({ resource, subresource, verbs }) =>
      verbs.map((verb) => `${verb} ${resource.plural}${subresource === undefined ? "" : `/${subresource}`}`),
    ),
  );
  const guarded =
    (verb: string) => (resource: Resource, what: unknown, body?: unknown, options?: unknown) => {
      const { subresource } = (options ?? body ?? {}) as { subresource?: string };
      const right = `${verb} ${resource.plural}${subresource === undefined ? "" : `/${subresource}`}`;
      used.add(right);
      const isReview = resource.kind === "SelfSubjectAccessReview" || resource.kind === "Lease";
      if (!reported.has(right) && !isReview)
        return Promise.reject(new StatusError("Forbidden", `no right to ${right}`));
      const call = Reflect.get(store, verb) as (...args: unknown[]) => Promise<unknown>;
      return call.call(store, resource, what, body, options);
    };
  const verbs = new Map(["create", "update", "patch", "delete"].map((verb) => [verb, guarded(verb)]));
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = verbs.get(String(name)) ?? Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("the rights that are listed for the operator are enough for a group's whole life, and all of them are needed", async (t) => {
  const used = new Set<string>();
  const w = await startWorld(t, { serve: async (store) => withOwnRights(store, used) });
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  await w.label("data", { app: null });
  await w.group("db", joined());
  await w.label("data", { app: "db" });
  const group = await w.group("db", joined("data"));
  await w.store.patch(
    VolumeGroupContents,
    { name: group.status?.boundVolumeGroupContentName ?? "" },
    { type: "merge", body: { spec: { deleteMembers: "true" } } },
  );
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("the group ends", async () => (await w.store.list(VolumeGroups)).items.length === 0);
  assert.deepEqual([...w.driver.volumeGroups.deletedVolumes], ["vol-data"]);
  const listed = WRITES["volume-group"].flatMap(({ resource, subresource, verbs }) =>
    verbs.map((verb) => `${verb} ${resource.plural}${subresource === undefined ? "" : `/${subresource}`}`),
  );
  assert.deepEqual(
    listed.filter((right) => !used.has(right)),
    [],
    "no right is asked for that nothing needs",
  );
});
