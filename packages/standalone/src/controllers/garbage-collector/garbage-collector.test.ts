import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  type ConfigMap,
  ConfigMaps,
  defineResource,
  Events,
  isNotFound,
  type KubeObject,
  type OwnerReference,
  ownerReferenceTo,
  PersistentVolumes,
  type Resource,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { plainKind } from "../../apiserver/testing/plain-kinds.ts";
import { startTestServer, type TestServer } from "../../apiserver/testing/test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const inDefault = (name: string) => ({ namespace: "default", name });

function create(name: string, owners: OwnerReference[] = [], finalizers: string[] = []): Promise<ConfigMap> {
  return server.store.create<ConfigMap>(ConfigMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...inDefault(name), ownerReferences: owners, finalizers },
  });
}

const get = (name: string) => server.store.get<ConfigMap>(ConfigMaps, inDefault(name));

async function exists(name: string, resource: Resource<ConfigMap> = ConfigMaps): Promise<boolean> {
  try {
    await server.store.get<ConfigMap>(resource, inDefault(name));
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

const gone = (...names: string[]) =>
  eventually(`${names.join(", ")} are gone`, async () => {
    const there = await Promise.all(names.map((name) => exists(name)));
    return !there.includes(true);
  });

/** Everything that happened up to now has been dealt with when an object made now and owned by nobody is gone. */
async function settled(): Promise<void> {
  const name = `marker-${Math.random().toString(36).slice(2)}`;
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: name };
  await create(name, [owner]);
  await gone(name);
}

test("in the background dependents follow their owner, generation by generation", async () => {
  const parent = await create("bg-parent");
  const child = await create("bg-child", [ownerReferenceTo(parent)]);
  await create("bg-grandchild", [ownerReferenceTo(child)]);
  await server.store.delete(ConfigMaps, inDefault("bg-parent"), { propagationPolicy: "Background" });
  assert.equal(await exists("bg-parent"), false, "the owner goes at once");
  await gone("bg-child", "bg-grandchild");
});

test("in the foreground the owner goes last, and waits only for dependents that block it", async () => {
  const parent = await create("fg-parent");
  const child = await create("fg-child", [ownerReferenceTo(parent)]);
  await create("fg-kept", [ownerReferenceTo(child)], ["example.com/keep"]);
  await create("fg-loose", [ownerReferenceTo(parent, { blockOwnerDeletion: false })], ["example.com/keep"]);
  await server.store.delete(ConfigMaps, inDefault("fg-parent"), { propagationPolicy: "Foreground" });
  await eventually("everything is marked", async () => {
    const objects = await Promise.all(["fg-parent", "fg-child", "fg-kept", "fg-loose"].map(get));
    return objects.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
  });
  assert.deepEqual((await get("fg-parent")).metadata.finalizers, ["foregroundDeletion"]);
  await server.store.patch(ConfigMaps, inDefault("fg-kept"), {
    type: "merge",
    body: { metadata: { finalizers: null } },
  });
  await gone("fg-kept", "fg-child", "fg-parent");
  assert.ok(await exists("fg-loose"), "it did not block, so nobody waited for it");
  await server.store.patch(ConfigMaps, inDefault("fg-loose"), {
    type: "merge",
    body: { metadata: { finalizers: null } },
  });
  await gone("fg-loose");
});

test("orphans lose the reference and live on", async () => {
  const parent = await create("orphan-parent");
  for (const n of [1, 2, 3]) await create(`orphan-${n}`, [ownerReferenceTo(parent)]);
  await server.store.delete(ConfigMaps, inDefault("orphan-parent"), { propagationPolicy: "Orphan" });
  await gone("orphan-parent");
  await settled();
  for (const n of [1, 2, 3]) assert.equal((await get(`orphan-${n}`)).metadata.ownerReferences, undefined);
});

test("one living owner is enough; references to dead ones are dropped", async () => {
  const dead = await create("two-dead");
  const alive = await create("two-alive");
  await create("two-child", [ownerReferenceTo(dead, { controller: false }), ownerReferenceTo(alive)]);
  await server.store.delete(ConfigMaps, inDefault("two-dead"));
  await eventually("the dead owner's reference is dropped", async () => {
    const { metadata } = await get("two-child");
    return metadata.ownerReferences?.length === 1 && metadata.ownerReferences[0]?.name === "two-alive";
  });
  await server.store.delete(ConfigMaps, inDefault("two-alive"));
  await gone("two-child");
});

test("an owner of the same name but another uid is not the owner", async () => {
  await create("reborn");
  await create("reborn-child", [
    { apiVersion: "v1", kind: "ConfigMap", name: "reborn", uid: "of-an-earlier-life" },
  ]);
  await gone("reborn-child");
  assert.ok(await exists("reborn"));
});

test("two objects that own each other and wait in the foreground do not wait for ever", async () => {
  const left = await create("circle-left");
  const right = await create("circle-right", [ownerReferenceTo(left)]);
  await server.store.patch(ConfigMaps, inDefault("circle-left"), {
    type: "merge",
    body: { metadata: { ownerReferences: [ownerReferenceTo(right)] } },
  });
  await server.store.delete(ConfigMaps, inDefault("circle-left"), { propagationPolicy: "Foreground" });
  await gone("circle-left", "circle-right");
});

test("an owner in another namespace owns nothing: an event reports it and the object stays", async () => {
  const foreign = await server.store.create<ConfigMap>(ConfigMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "kube-public", name: "foreign" },
  });
  await settled();
  await create("cross", [ownerReferenceTo(foreign)]);
  await eventually("an event reports the reference", async () => {
    const { items } = await server.store.list(Events, { namespace: "default" });
    return items.some(
      ({ reason, involvedObject }) =>
        reason === "OwnerRefInvalidNamespace" && involvedObject.name === "cross",
    );
  });
  assert.ok(await exists("cross"));
});

test("cluster-scoped objects own namespaced ones", async () => {
  const volume = await server.store.create(PersistentVolumes, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "owner-pv" },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/tmp" } },
  });
  await create("of-volume", [ownerReferenceTo(volume)]);
  await settled();
  assert.ok(await exists("of-volume"));
  await server.store.delete(PersistentVolumes, { name: "owner-pv" });
  await gone("of-volume");
});

test("owners of a kind that is not served say nothing; when it comes they count", async () => {
  const Gadgets = defineResource<KubeObject>({
    group: "example.com",
    version: "v1",
    kind: "Gadget",
    plural: "gadgets",
    namespaced: true,
  });
  await create("of-gadget", [{ apiVersion: "example.com/v1", kind: "Gadget", name: "g", uid: "none" }]);
  await settled();
  assert.ok(await exists("of-gadget"));
  server.registry.register({ resource: Gadgets, hasStatus: false });
  server.kinds.set(plainKind(Gadgets, { custom: true }));
  await gone("of-gadget");
  const gadget = await server.store.create<KubeObject>(Gadgets, {
    apiVersion: "example.com/v1",
    kind: "Gadget",
    metadata: { namespace: "default", name: "real" },
  });
  await create("of-real-gadget", [ownerReferenceTo(gadget)]);
  await settled();
  await server.store.delete(Gadgets, inDefault("real"));
  await gone("of-real-gadget");
});
