import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type KubeObject,
  type LocalStore,
  type Logger,
  type ObjectKey,
  type ObjectStore,
  type Resource,
  StatusError,
  silentLogger,
} from "@mooring/store";
import { startHarness } from "../testing/harness.ts";
import { DRIVER } from "../testing/objects.ts";

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
