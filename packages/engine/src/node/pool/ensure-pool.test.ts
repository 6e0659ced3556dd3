import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Events, forbidden, type LocalStore, silentLogger } from "@mooring/store";
import { eventually, refusingStore } from "@mooring/store/testing";
import { type Pool, Pools } from "../../api/pool.ts";
import { POOL, until } from "../../testing/agent.ts";
import { twoNodes } from "../../testing/two-nodes.ts";
import { startAgent } from "../index.ts";
import type { AgentPool } from "../options.ts";

/** As an API server that lets no node change what a shared pool is. */
function asNode(store: LocalStore, shared: Pool): LocalStore {
  return refusingStore(store, (method, [resource, object]) =>
    method === "update" && resource === Pools && !isDeepStrictEqual((object as Pool).spec, shared.spec)
      ? forbidden(Pools, POOL, "a node does not change a pool that others have as well")
      : undefined,
  );
}

test("a node that is started with other settings than a shared pool has goes on with the pool's own, and an event says how to change them", async (t) => {
  const { store, host, dir } = await twoNodes(t);
  const before = await store.get(Pools, { name: POOL });
  const asked: AgentPool = { name: POOL, type: "xfs", shared: true, path: before.spec.path, reserve: 12_345 };
  const stop = new AbortController();
  const { done } = await startAgent({
    ...{ store: asNode(store, before), host, nodeID: "node-3", stateDir: join(dir, "node-3") },
    ...{ logger: silentLogger, pools: [asked], leases: {}, signal: stop.signal },
  });
  try {
    const pool = await until(store, Pools, POOL, ({ status }) => status?.nodes?.includes("node-3") === true);
    assert.deepEqual(pool.spec, before.spec);
    const reported = await eventually("an event about the settings", async () =>
      (await store.list(Events)).items.find(({ reason }) => reason === "SettingsDiffer"),
    );
    assert.equal(reported.involvedObject?.name, POOL);
    assert.match(reported.message ?? "", /node node-3 .* goes on with the pool's own/);
    assert.match(
      reported.message ?? "",
      /kubectl patch pool p --type=merge -p '\{"spec":\{"reserve":12345\}\}'/,
    );
  } finally {
    stop.abort();
    await done;
  }
});
