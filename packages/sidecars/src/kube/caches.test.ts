import assert from "node:assert/strict";
import { test } from "node:test";
import { type Node, type ObjectStore, silentLogger } from "@mooring/store";
import { node } from "../testing/objects.ts";
import { Caches } from "./caches.ts";
import { Cluster } from "./cluster.ts";

test("of a node neither its status nor who has set which field is kept", async () => {
  const stop = new AbortController();
  const bare = node("n1", { zone: "a" });
  const managedFields = [{ manager: "kubelet", operation: "Update" as const, apiVersion: "v1" }];
  const full = {
    ...{ ...bare, metadata: { ...bare.metadata, managedFields } },
    status: { images: [{ names: ["registry.example.com/image:1"] }] },
  } as unknown as Node;
  const store = {
    list: async () => ({ items: [full], resourceVersion: "1" }),
    async *watch() {
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    },
  } as unknown as ObjectStore;
  const shared = new Caches(store, silentLogger, stop.signal);
  const scope = { driver: "d", namespace: "default", logger: silentLogger, shared };
  const { nodes } = new Cluster(store, scope, stop.signal);
  try {
    await nodes.informer.synced(stop.signal);
    assert.deepEqual(nodes.get("n1"), bare);
    assert.ok(full.metadata.managedFields, "what the store has is left alone");
  } finally {
    stop.abort();
    await shared.done;
  }
});
