import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { apiVersionOf, LocalStore, mutate, ResourceRegistry, silentLogger } from "@mooring/store";
import { ENGINE_KINDS } from "../../api/kinds.ts";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { claimNode, NodeInUse } from "./node-claim.ts";

const NODE = "node-1";

/** A store, and a clock on which a second lasts as long as what happens in it. */
async function scene(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-holder-"));
  const registry = new ResourceRegistry(ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path: join(folder, "store"), registry });
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const seconds: (() => Promise<unknown>)[] = [];
  let now = 0;
  const clock = {
    now: () => new Date(now),
    sinceBoot: () => now,
    sleep: async (ms: number) => {
      now += ms;
      await seconds.shift()?.();
    },
  };
  const { signal } = new AbortController();
  const claim = (stateDir: string) =>
    claimNode({
      ...{ store, nodeID: NODE, stateDir: join(folder, stateDir) },
      ...{ clock, logger: silentLogger, signal },
    });
  const write = (change: Partial<NonNullable<NodeAgent["status"]>>) =>
    mutate(
      store,
      NodeAgents,
      { name: NODE },
      {
        change: (agent) => ({ ...agent, status: { state: "Ready" as const, ...agent.status, ...change } }),
        subresource: "status",
      },
    );
  await store.create(NodeAgents, {
    ...{ apiVersion: apiVersionOf(NodeAgents), kind: NodeAgents.kind, metadata: { name: NODE }, spec: {} },
  });
  return { claim, write, seconds, elapsed: () => now };
}

test("the next agent of a state folder need not wait, also when the one before was killed", async (t) => {
  const { claim, write, elapsed } = await scene(t);
  const { holder } = await claim("a");
  await write({ holder, heartbeat: "2026-01-01T00:00:00.000Z" });
  assert.equal((await claim("a")).holder, holder);
  assert.equal(elapsed(), 0);
});

test("an agent of another folder is refused as soon as the one before beats", async (t) => {
  const { claim, write, seconds, elapsed } = await scene(t);
  const { holder } = await claim("a");
  await write({ holder, heartbeat: "2026-01-01T00:00:00.000Z" });
  seconds.push(
    async () => {},
    () => write({ heartbeat: "2026-01-01T00:00:10.000Z" }),
  );
  await assert.rejects(claim("b"), (error: unknown) => {
    assert.ok(error instanceof NodeInUse);
    assert.match(error.message, /another agent runs for node "node-1"/);
    return true;
  });
  assert.equal(elapsed(), 2000);
});

test("one that has missed three beats is followed, and finds that out when it is back", async (t) => {
  const { claim, write, elapsed } = await scene(t);
  const first = await claim("a");
  const heartbeat = "2026-01-01T00:00:00.000Z";
  await write({ holder: first.holder, heartbeat });
  const second = await claim("b");
  assert.equal(elapsed(), 30_000);
  // Back a moment before the second one has written anything: the second one is refused.
  assert.throws(() => second.check({ state: "Ready", holder: first.holder, heartbeat: "later" }), NodeInUse);
  second.check({ state: "Ready", holder: first.holder, heartbeat });
  const after = { state: "Ready", holder: second.holder, heartbeat: "2026-01-01T00:01:00.000Z" } as const;
  second.check(after);
  assert.throws(() => first.check(after), NodeInUse);
});

test("one that has given the node back is followed at once", async (t) => {
  const { claim, write, elapsed } = await scene(t);
  await write({ state: "Gone", heartbeat: "2026-01-01T00:00:00.000Z" });
  await claim("b");
  assert.equal(elapsed(), 0);
});
