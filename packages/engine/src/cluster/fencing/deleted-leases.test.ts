import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Leases, LocalStore, Nodes, type ObjectStore, silentLogger } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import {
  LEASE_IMAGE_LABEL,
  LEASE_NAMESPACE,
  LEASE_NODE_LABEL,
  MOORING_API_VERSION,
} from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Pools } from "../../api/pool.ts";
import { Volumes } from "../../api/volume.ts";
import { createHost } from "../../host/create-host.ts";
import type { Host } from "../../host/host.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { engineRegistry, volumeObject } from "../../testing/agent.ts";
import { scratch } from "../../testing/scratch.ts";
import { startFencing } from "./index.ts";

const TIMES = { graceMs: 300, leases: { durationMs: 100, safetyMs: 50 } };
/** Longer than any test. */
const LONG_S = 3600;

/** A node whose agent has died with this volume. */
async function deadNode(
  store: ObjectStore,
  name: string,
  { pool, volume }: { pool: string; volume: string },
) {
  const agent = { apiVersion: MOORING_API_VERSION, kind: "NodeAgent", metadata: { name }, spec: {} };
  const made = await store.create(NodeAgents, agent);
  const heartbeat = "2026-01-01T00:00:00Z";
  await store.updateStatus(NodeAgents, { ...made, status: { state: "Ready", heartbeat } });
  const record = await store.create(Volumes, volumeObject(volume, { pool, nodeID: name }));
  const status = { state: "attached", ownerID: name, currentNodeID: name, robustness: "healthy" } as const;
  await store.updateStatus(Volumes, { ...record, status });
}

async function leaseOf(store: ObjectStore, volume: string, node: string): Promise<void> {
  const labels = { [LEASE_IMAGE_LABEL]: volume, [LEASE_NODE_LABEL]: node };
  await store.create(Leases, {
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
    metadata: { namespace: LEASE_NAMESPACE, name: leaseName(volume), labels },
    spec: { holderIdentity: `${node}_1`, leaseDurationSeconds: LONG_S },
  });
}

test(
  "a dead node whose leases somebody has deleted is fenced when they would have run out, and no other is",
  thorough(),
  async (t) => {
    const host = createHost();
    const dir = await scratch(t, host);
    const registry = engineRegistry();
    registry.register({ resource: Nodes, hasStatus: true });
    const store = await LocalStore.open({ path: join(dir, "store"), registry });
    for (const mode of ["shared", "local"] as const)
      await store.create(Pools, {
        ...{ apiVersion: MOORING_API_VERSION, kind: "Pool", metadata: { name: mode } },
        spec: { type: "xfs", mode, path: join(dir, mode) },
      });
    await deadNode(store, "deleted", { pool: "shared", volume: "v-shared-1" });
    await deadNode(store, "held", { pool: "shared", volume: "v-shared-2" });
    await deadNode(store, "alone", { pool: "local", volume: "v-local-3" });
    await leaseOf(store, "v-shared-1", "deleted");
    await leaseOf(store, "v-shared-2", "held");
    await fencing(t, host, { store, close: () => store.close() });
    const state = async (name: string) => (await store.get(NodeAgents, { name })).status;
    for (const name of ["deleted", "held", "alone"])
      await eventually(`${name} to be suspect`, async () => (await state(name))?.state === "Suspect");
    await store.delete(Leases, { namespace: LEASE_NAMESPACE, name: leaseName("v-shared-1") });
    await eventually("the node to be fenced", async () => (await state("deleted"))?.state === "Fenced");
    const fenced = (await state("deleted"))?.conditions?.find(({ type }) => type === "Fenced");
    assert.deepEqual([fenced?.status, fenced?.reason], ["True", "LeasesLost"]);
    for (const name of ["held", "alone"]) assert.equal((await state(name))?.state, "Suspect");
  },
);

/** Has lost nodes fenced until the test ends; then closes the store. */
async function fencing(
  t: TestContext,
  { clock }: Host,
  { store, close }: { store: ObjectStore; close(): Promise<void> },
): Promise<void> {
  const stop = new AbortController();
  const running = await startFencing({ store, clock, logger: silentLogger, signal: stop.signal, ...TIMES });
  t.after(async () => {
    stop.abort();
    await running.done;
    await close();
  });
}

/** As `store`, but no report about this node is stored. */
function refusing(store: ObjectStore, node: string): ObjectStore {
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const object = args[1] as { metadata?: { name?: string } } | undefined;
        if (key === "updateStatus" && object?.metadata?.name === node)
          return Promise.reject(new Error("refused"));
        return value.apply(target, args);
      };
    },
  });
}

test("a node whose report cannot be stored keeps no other from being fenced", thorough(), async (t) => {
  const host = createHost();
  const dir = await scratch(t, host);
  const registry = engineRegistry();
  registry.register({ resource: Nodes, hasStatus: true });
  const own = await LocalStore.open({ path: join(dir, "store"), registry });
  // By their names in this order.
  for (const name of ["a", "b"]) await deadNode(own, name, { pool: "p", volume: `v-${name}` });
  const store = refusing(own, "a");
  await fencing(t, host, { store, close: () => own.close() });
  const state = async (name: string) => (await own.get(NodeAgents, { name })).status?.state;
  await eventually("b to be suspect", async () => (await state("b")) === "Suspect");
  assert.equal(await state("a"), "Ready");
});
