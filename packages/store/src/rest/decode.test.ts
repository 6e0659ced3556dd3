import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Shelf, Shelves, shelf } from "../contract/kinds.ts";
import { CSINodes, PersistentVolumeClaims } from "../kinds/kubernetes.ts";
import type { KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";
import { isStatus } from "../object/status-error.ts";
import { openStore } from "../testing/open-store.ts";
import { startTestApiServer } from "../testing/test-api-server.ts";
import { decodeObject } from "./decode.ts";
import { RestStore } from "./rest-store.ts";

/** As Go writes it: `kubectl get --raw` of Kubernetes 1.35. */
const claimOfGo = () => ({
  kind: "PersistentVolumeClaim",
  apiVersion: "v1",
  metadata: { name: "clone", namespace: "default", creationTimestamp: null, finalizers: null },
  spec: {
    accessModes: ["ReadWriteOnce"],
    dataSource: { apiGroup: null, kind: "PersistentVolumeClaim", name: "data" },
    selector: {},
    storageClassName: "",
  },
  status: {
    conditions: [{ type: "Resizing", status: "True", lastProbeTime: null, lastTransitionTime: null }, null],
  },
});

test("null and absence are one, an empty value is kept", () => {
  assert.deepEqual(decodeObject(claimOfGo() as unknown, PersistentVolumeClaims), {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    metadata: { name: "clone", namespace: "default" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      dataSource: { kind: "PersistentVolumeClaim", name: "data" },
      selector: {},
      storageClassName: "",
    },
    status: { conditions: [{ type: "Resizing", status: "True" }] },
  });
});

test("a list that Go always writes is there, whether the server wrote null or nothing", () => {
  for (const spec of [{ drivers: null }, {}]) {
    const node = { kind: "CSINode", apiVersion: "storage.k8s.io/v1", metadata: { name: "n" }, spec };
    assert.deepEqual(decodeObject(node as unknown as KubeObject, CSINodes), {
      ...node,
      spec: { drivers: [] },
    });
  }
});

test("what is not of Go's types keeps its nulls: field sets, schemas, revisions", () => {
  const managedFields = [{ manager: "x", time: null, fieldsV1: { "f:a": null } }];
  const schema = { properties: { a: { default: null, enum: [null, 1], nullable: true } } };
  const crds = defineResource({
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "C",
    plural: "customresourcedefinitions",
    namespaced: false,
  });
  assert.deepEqual(
    decodeObject(
      {
        metadata: { name: "c", managedFields },
        spec: { conversion: null, versions: [{ schema: { openAPIV3Schema: schema } }] },
      } as object,
      crds,
    ),
    {
      metadata: { name: "c", managedFields: [{ manager: "x", fieldsV1: { "f:a": null } }] },
      spec: { versions: [{ schema: { openAPIV3Schema: schema } }] },
    },
  );
  const revisions = defineResource({
    group: "apps",
    version: "v1",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
    namespaced: true,
  });
  const revision = { metadata: { name: "r" }, revision: 1, data: { spec: { replicas: null } } };
  assert.deepEqual(decodeObject(structuredClone(revision), revisions), revision);
});

async function serverOfGo(t: TestContext) {
  const local = await openStore(t);
  const api = await startTestApiServer(t, local);
  api.encode = (object) => ({ ...object, data: null, spec: null, list: [null, { a: null }] });
  const rest = new RestStore({ server: api.url, tls: {}, namespace: "default" });
  t.after(() => rest.close());
  return { local, api, rest };
}

test("no response brings a null: get, list, watch, create, update, patch and delete", async (t) => {
  const { rest } = await serverOfGo(t);
  const seen: [string, Shelf][] = [];
  const note = (what: string, object: Shelf) => seen.push([what, object]);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const created = await rest.create(Shelves, shelf("a", { x: "1" }));
  note("create", created);
  note("get", await rest.get(Shelves, { name: "a" }));
  for (const item of (await rest.list(Shelves)).items) note("list", item);
  note("update", await rest.update(Shelves, { ...created, data: { x: "2" } }));
  const body = { data: { x: "3" } };
  note("patch", await rest.patch(Shelves, { name: "a" }, { type: "merge", body }));
  for await (const { object } of rest.watch(Shelves, { signal: stop.signal })) {
    note("watch", object);
    break;
  }
  note("delete", await rest.delete(Shelves, { name: "a" }));
  assert.deepEqual(
    seen.map(([what]) => what),
    ["create", "get", "list", "update", "patch", "watch", "delete"],
  );
  for (const [what, object] of seen) {
    const { data, spec, list } = object as Shelf & { spec?: unknown; list?: unknown };
    assert.deepEqual([data, spec, list], [undefined, undefined, [{}]], what);
  }
});

test("a list of nothing, and a refusal without details, are what they are", async (t) => {
  const { api, rest } = await serverOfGo(t);
  const responses: [number, unknown][] = [
    [200, { kind: "ShelfList", apiVersion: "v1", metadata: null, items: null }],
    [200, { kind: "ShelfList", metadata: { resourceVersion: null, continue: null }, items: [null] }],
    [403, { kind: "Status", status: "Failure", reason: "Forbidden", code: 403, details: null }],
    [409, { kind: "Status", reason: "Conflict", details: { name: null, causes: null } }],
  ];
  api.intercept = (_request, response) => {
    const [code, body] = responses.shift() ?? [500, {}];
    response.writeHead(code).end(JSON.stringify(body));
    return true;
  };
  assert.deepEqual(await rest.list(Shelves), { items: [], resourceVersion: "" });
  assert.deepEqual(await rest.list(Shelves), { items: [], resourceVersion: "" });
  await assert.rejects(rest.list(Shelves), (error) => isStatus(error, "Forbidden"));
  await assert.rejects(rest.list(Shelves), (error) => {
    assert.ok(isStatus(error, "Conflict"));
    assert.deepEqual(error.details, {});
    return true;
  });
});
