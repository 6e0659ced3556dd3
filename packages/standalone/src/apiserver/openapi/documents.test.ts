import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceRegistry } from "@mooring/store";
import { registerBuiltins } from "../../builtin/index.ts";
import { createKindRegistry, type KindInfo } from "../../kinds/kind-info.ts";
import type { JsonObject, Schema } from "../../schema/model.ts";
import { createOpenApi } from "./documents.ts";

function builtins() {
  const kinds = createKindRegistry();
  registerBuiltins(new ResourceRegistry(), kinds);
  return { kinds, openapi: createOpenApi(kinds) };
}

/** Every value of a key, anywhere in a document. */
function* valuesOf(node: unknown, key: string): Generator<unknown> {
  if (typeof node !== "object" || node === null) return;
  for (const [name, child] of Object.entries(node)) {
    if (name === key && typeof child !== "object") yield child;
    yield* valuesOf(child, key);
  }
}

function find(document: unknown, pointer: string): unknown {
  const steps = pointer.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((at, step) => (at as JsonObject | undefined)?.[step], document);
}

test("every reference of every document leads somewhere, and nothing of our own gets out", async () => {
  const { openapi } = builtins();
  const documents = [await openapi.v2(), ...openapi.v3Paths().map((path) => openapi.v3(path))];
  for (const document of documents) {
    for (const ref of valuesOf(document, "$ref")) assert.ok(find(document, String(ref)), String(ref));
    const text = JSON.stringify(document);
    for (const word of ["typeName", "typeDescription", "micro-time"]) assert.ok(!text.includes(word), word);
  }
});

test("what kubectl reads is there: kinds of paths and schemas, query parameters, merge keys", () => {
  const { openapi } = builtins();
  const document = openapi.v3("api/v1") as {
    paths: JsonObject;
    components: { schemas: Record<string, JsonObject> };
  };
  const gvk = { group: "", version: "v1", kind: "Pod" };
  const item = document.paths["/api/v1/namespaces/{namespace}/pods/{name}"] as Record<string, JsonObject>;
  assert.deepEqual(item.get?.["x-kubernetes-group-version-kind"], gvk);
  const names = ((item.patch?.parameters ?? []) as { name: string }[]).map(({ name }) => name);
  assert.ok(["dryRun", "fieldValidation", "fieldManager", "force"].every((name) => names.includes(name)));
  assert.deepEqual(
    document.components.schemas["io.k8s.api.core.v1.Pod"]?.["x-kubernetes-group-version-kind"],
    [gvk],
  );
  const spec = document.components.schemas["io.k8s.api.core.v1.PodSpec"]?.properties as Record<
    string,
    JsonObject
  >;
  assert.equal(spec.containers?.["x-kubernetes-patch-merge-key"], "name");
  assert.equal(spec.volumes?.["x-kubernetes-patch-strategy"], "merge,retainKeys");
  assert.deepEqual(openapi.v3("apis/nowhere/v1"), undefined);
});

test("documents follow the kinds being served, and stay the same objects while nothing changes", async () => {
  const { kinds, openapi } = builtins();
  assert.equal(openapi.v3("api/v1"), openapi.v3("api/v1"));
  const schema: Schema = {
    type: "object",
    description: "W",
    properties: { spec: { nullable: true, type: "object", oneOf: [{ required: ["a"] }] } },
  };
  const widget: KindInfo = {
    resource: { group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true },
    versions: ["v1"],
    singular: "widget",
    shortNames: [],
    categories: [],
    listKind: "WidgetList",
    columns: {},
    subresources: { status: true },
    custom: true,
    schema: () => ({ ...schema }),
  };
  kinds.set(widget);
  const v3 = openapi.v3("apis/example.com/v1") as { components: { schemas: Record<string, Schema> } };
  assert.equal(v3.components.schemas["com.example.v1.Widget"]?.properties?.spec?.nullable, true);
  const v2 = (await openapi.v2()) as { definitions: Record<string, Schema> };
  assert.deepEqual(v2.definitions["com.example.v1.Widget"]?.properties?.spec, { type: "object" });
  kinds.delete("example.com", "widgets");
  assert.equal(openapi.v3("apis/example.com/v1"), undefined);
});
