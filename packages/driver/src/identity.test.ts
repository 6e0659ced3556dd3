import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Pools } from "@mooring/engine";
import { mutate } from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { startCluster } from "./testing/scripted-node.ts";

test("the controller of a cluster serves on when the pool of one node has failed", thorough(), async () => {
  const cluster = await startCluster(["a", "b"]);
  after(() => cluster.end());
  const [pool] = (await cluster.store.list(Pools)).items;
  const failed = {
    ...{ type: "Ready", status: "False" as const, reason: "Failed", message: "its disk is gone" },
    lastTransitionTime: new Date().toISOString(),
  };
  await mutate(
    cluster.store,
    Pools,
    { name: pool?.metadata.name ?? "" },
    {
      change: (current) => ({
        ...current,
        status: { ...current.status, ready: false, conditions: [failed] },
      }),
      subresource: "status",
    },
  );
  assert.equal((await cluster.client.identity.probe({})).ready, true);
});
