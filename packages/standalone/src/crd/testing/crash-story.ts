// One life of the controller of definitions, for a test that kills it: makes a definition and an object of it, deletes the
// definition, makes it again, and exits with 0 when nothing of before is there. Argument: the state folder.
import assert from "node:assert/strict";
import { defineResource, getIfAny, isNotFound, Namespaces, type UnstructuredObject } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { beginStoryLife } from "../../controllers/testing/story-life.ts";
import { startCrdController } from "../controller/index.ts";
import { type CustomResourceDefinition, CustomResourceDefinitions } from "../types.ts";
import { isEstablished } from "../validate-definition.ts";

const NAME = "widgets.example.com";
const schema = { openAPIV3Schema: { type: "object" as const } };
const definition: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: NAME },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets" },
    versions: [{ name: "v1", served: true, storage: true, schema }],
  },
};
const Widgets = defineResource<UnstructuredObject>({
  ...{ group: "example.com", version: "v1", kind: "Widget" },
  ...{ plural: "widgets", namespaced: true },
});

const life = await beginStoryLife();
const { store, ensure, once } = life;
const controller = await startCrdController(life);
const found = () => getIfAny(store, CustomResourceDefinitions, { name: NAME });

async function establish(): Promise<void> {
  await ensure(CustomResourceDefinitions, definition);
  await eventually("the kind is served", async () => {
    const crd = await found();
    return crd !== undefined && isEstablished(crd);
  });
}

await once("object", async () => {
  await establish();
  await ensure(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  const metadata = { name: "w", namespace: "a" };
  await ensure(Widgets, { apiVersion: "example.com/v1", kind: "Widget", metadata });
});
await once("deleted", async () => {
  await store.delete(CustomResourceDefinitions, { name: NAME }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await eventually("the definition is gone", async () => (await found()) === undefined);
});
await establish();
assert.deepEqual((await store.list(Widgets)).items, []);
await life.end([controller]);
