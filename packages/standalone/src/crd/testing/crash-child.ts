// Makes a definition and an object of it, then deletes the definition; a failpoint ends it on the way.
import { defineResource, Namespaces, type UnstructuredObject, waitFor } from "@mooring/store";
import { type CustomResourceDefinition, CustomResourceDefinitions } from "../types.ts";
import { isEstablished } from "../validate-definition.ts";
import { startTestCluster } from "./cluster.ts";

const [path = ""] = process.argv.slice(2);
const signal = AbortSignal.timeout(60_000);
const name = "widgets.example.com";
const definition: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

const { store, stop } = await startTestCluster(path);
await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
await store.create(CustomResourceDefinitions, definition);
await waitFor(
  store,
  { resource: CustomResourceDefinitions, key: { name } },
  (crd) => crd !== undefined && isEstablished(crd),
  signal,
);
const widgets = defineResource<UnstructuredObject>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});
const metadata = { name: "w", namespace: "a" };
await store.create(widgets, { apiVersion: "example.com/v1", kind: "Widget", metadata });
await store.delete(CustomResourceDefinitions, { name });
await waitFor(
  store,
  { resource: CustomResourceDefinitions, key: { name } },
  (crd) => crd === undefined,
  signal,
);
await stop();
