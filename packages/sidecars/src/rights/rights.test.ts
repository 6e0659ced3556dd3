import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type KubeObject,
  type LocalStore,
  type Logger,
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
  return new Proxy(store, {
    get(target, name) {
      if (name === "create") return create;
      if (name === "list") return list;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("missing rights are logged at the start by resource and verb, and kinds that not everybody needs end nothing", async (t) => {
  const denied = new Set([
    "patch persistentvolumeclaims/status",
    "delete configmaps",
    "list volumegrouprestores",
  ]);
  const reported: string[] = [];
  const error = (fields: object, message: string) => {
    const { verb, resource } = fields as { verb?: string; resource?: string };
    if (/missing right/.test(message)) reported.push(`${verb} ${resource}`);
  };
  const logger: Logger = { ...silentLogger, error, child: () => logger };
  const h = await startHarness(t, {
    sidecars: { logger },
    serve: async (store) => withRights(store, denied),
  });
  await h.until(
    "all are logged",
    () => reported.length >= 3,
    () => reported,
  );
  assert.deepEqual(reported.sort(), [
    "delete configmaps",
    "list volumegrouprestores.storage.mooring.dev",
    "patch persistentvolumeclaims/status",
  ]);
  assert.equal(h.sidecars.driver.name, DRIVER);
  assert.equal(h.sidecars.health.ready, true);
});
