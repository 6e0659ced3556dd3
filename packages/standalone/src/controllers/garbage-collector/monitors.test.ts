import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, type ObjectStore, type Resource, silentLogger } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { createKindRegistry, type KindInfo } from "../../kinds/kind-info.ts";
import { OwnerGraph } from "./graph.ts";
import { Monitors } from "./monitors.ts";

const OWNER = "owner";
const widgets = (version: string): KindInfo => ({
  resource: {
    group: "example.com",
    version,
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
  } as Resource,
  ...{ versions: [version], singular: "widget", shortNames: [], categories: [], listKind: "WidgetList" },
  ...{ columns: {}, subresources: { status: false }, custom: true, schema: () => undefined },
});

/** Has one widget, and watches in which nothing comes. */
const store = {
  async list() {
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "c", uid: OWNER }];
    const metadata = { name: "w", namespace: "n", uid: "widget", ownerReferences };
    return { items: [{ apiVersion: "example.com/v1", kind: "Widget", metadata }], resourceVersion: "1" };
  },
  async *watch(_: Resource, { signal }: { signal?: AbortSignal }): AsyncGenerator<never> {
    await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  },
} as unknown as ObjectStore;

test("an owner does not wait for objects whose kind is not served any more", async (t) => {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const graph = new OwnerGraph(() => {});
  const kinds = createKindRegistry();
  kinds.set(widgets("v1"));
  const monitors = new Monitors({ store, kinds, graph, logger: silentLogger, signal: stop.signal });
  await monitors.synced();
  const names = () =>
    graph.dependentsOf(OWNER).map(({ object }: { object: KubeObject }) => object.metadata.name);
  assert.deepEqual(names(), ["w"]);
  kinds.set(widgets("v2"));
  await monitors.synced();
  assert.deepEqual(names(), ["w"], "another version has the same objects");
  kinds.delete("example.com", "widgets");
  await eventually("nothing depends on the owner", async () => names().length === 0);
});
