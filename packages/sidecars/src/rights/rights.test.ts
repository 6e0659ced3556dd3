import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type KubeObject,
  type LocalStore,
  type Logger,
  type ObjectKey,
  type ObjectStore,
  PersistentVolumes,
  type Resource,
  StatusError,
  silentLogger,
} from "@mooring/store";
import { startHarness } from "../testing/harness.ts";
import { DRIVER, persistentVolume } from "../testing/objects.ts";

/** A server with rights: what `denied` names is refused, and access reviews say so. */
function withRights(store: LocalStore, denied: ReadonlySet<string>): ObjectStore {
  const create = (resource: Resource, object: KubeObject, options?: object) => {
    if (resource.kind !== "SelfSubjectAccessReview") return store.create(resource, object, options);
    const { spec } = object as unknown as { spec: { resourceAttributes: Record<string, string> } };
    const { verb, resource: plural, subresource } = spec.resourceAttributes;
    const allowed = !denied.has(`${verb} ${plural}${subresource ? `/${subresource}` : ""}`);
    return Promise.resolve({ ...object, status: { allowed } });
  };
  const list = (resource: Resource, options?: object) =>
    denied.has(`list ${resource.plural}`)
      ? Promise.reject(new StatusError("Forbidden", `${resource.plural} is forbidden`))
      : store.list(resource, options);
  const get = (resource: Resource, key: ObjectKey) =>
    denied.has(`get ${resource.plural}`)
      ? Promise.reject(new StatusError("Forbidden", `${resource.plural} is forbidden`))
      : store.get(resource, key);
  return new Proxy(store, {
    get(target, name) {
      if (name === "create") return create;
      if (name === "list") return list;
      if (name === "get") return get;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** `verb resource` of what is reported. */
function reports(): { logger: Logger; reported: string[] } {
  const reported: string[] = [];
  const error = (fields: object, message: string) => {
    const { verb, resource, within } = fields as { verb?: string; resource?: string; within?: string };
    const where = within === "the whole cluster" ? "" : ` in ${within}`;
    if (/missing right: may not/.test(message)) reported.push(`${verb} ${resource}${where}`);
  };
  const logger: Logger = { ...silentLogger, error, child: () => logger };
  return { logger, reported };
}

test("missing rights are logged at the start by resource and verb, and kinds that not everybody needs end nothing", async (t) => {
  const { logger, reported } = reports();
  const denied = [
    ...["patch persistentvolumeclaims/status", "delete configmaps", "list volumegrouprestores"],
    ...["get csidrivers", "watch csinodes", "get leases"],
  ];
  const h = await startHarness(t, {
    sidecars: { logger, namespace: "records", leaderElection: { namespace: "elections" } },
    serve: async (store) => withRights(store, new Set(denied)),
  });
  await h.until(
    "all are logged",
    () => reported.length >= denied.length,
    () => reported,
  );
  assert.deepEqual(reported.sort(), [
    "delete configmaps in records",
    "get csidrivers.storage.k8s.io",
    "get leases.coordination.k8s.io in elections",
    "list volumegrouprestores.storage.mooring.dev",
    "patch persistentvolumeclaims/status",
    "watch csinodes.storage.k8s.io",
  ]);
  assert.equal(h.sidecars.driver.name, DRIVER);
  assert.equal(h.sidecars.health.ready, true);
});

test("a right that only a controller beside needs is not missed, nor the lease where nobody else may lead", async (t) => {
  const { logger, reported } = reports();
  const h = await startHarness(t, {
    sidecars: { logger, controllers: ["resize"] },
    serve: async (store) =>
      withRights(
        store,
        new Set(["list nodes", "get csidrivers", "list volumepopulators", "get leases", "get events"]),
      ),
  });
  await h.until("what is needed is logged", () => reported.length > 0);
  assert.deepEqual(reported, ["get events"]);
});

test("a volume that an administrator made is deleted by who may only follow StorageClasses", async (t) => {
  const h = await startHarness(t, {
    serve: async (store) => withRights(store, new Set(["get storageclasses"])),
  });
  const volumeHandle = "made-by-hand";
  h.driver.backend.volumes.set(volumeHandle, {
    ...{ id: volumeHandle, name: volumeHandle, bytes: 1024n ** 3n, fingerprint: "", topology: [] },
    publishedTo: new Set<string>(),
  });
  const claimRef = { namespace: "default", name: "gone", uid: "uid-gone" };
  const spec = { csi: { driver: DRIVER, volumeHandle }, storageClassName: "fast", claimRef };
  const metadata = { name: "by-hand", annotations: { "pv.kubernetes.io/provisioned-by": DRIVER } };
  await h.store.create(PersistentVolumes, { ...persistentVolume("by-hand", spec), metadata });
  await h.store.patch(
    PersistentVolumes,
    { name: "by-hand" },
    { type: "merge", body: { status: { phase: "Released" } } },
    { subresource: "status" },
  );
  await h.until(
    "it is gone",
    async () => (await h.find(PersistentVolumes, "by-hand")) === undefined,
    () => h.find(PersistentVolumes, "by-hand"),
  );
  assert.equal(h.driver.backend.volumes.size, 0);
});
