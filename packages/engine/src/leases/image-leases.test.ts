import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Leases, LocalStore, mutate, silentLogger } from "@mooring/store";
import { LEASE_NAMESPACE } from "../api/names.ts";
import { createHost } from "../host/create-host.ts";
import { engineRegistry, volumeObject } from "../testing/agent.ts";
import { scratch } from "../testing/scratch.ts";
import { DeviceGuard } from "./guard.ts";
import { ImageLeases, LEASE_TIMES } from "./image-leases.ts";
import { LeaseWatch, leaseName } from "./lease-watch.ts";

const host = createHost();
const KEY = { namespace: LEASE_NAMESPACE, name: leaseName("v-p-1") };

/** The lease of one image, held by the agent of node a. */
async function held(t: TestContext): Promise<{ store: LocalStore; leases: ImageLeases }> {
  const dir = await scratch(t, host);
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  const { clock } = host;
  const leases = new ImageLeases({
    ...{ store, clock, logger: silentLogger, nodeID: "a", identity: "a_1", times: LEASE_TIMES },
    guard: await DeviceGuard.open(join(dir, "lease-guard"), clock),
    watch: new LeaseWatch(store, clock, silentLogger),
    onLost: () => {},
  });
  t.after(() => store.close());
  assert.equal(
    await leases.acquire(volumeObject("v-p-1", { nodeID: "a" }), new AbortController().signal),
    undefined,
  );
  return { store, leases };
}

test("a lease is given back also while a renewal of it is under way", async (t) => {
  const { store, leases } = await held(t);
  await mutate(store, Leases, KEY, (lease) => ({
    ...lease,
    spec: { ...lease.spec, renewTime: "2026-01-01T00:00:00.000000Z" },
  }));
  await leases.release("v-p-1");
  assert.equal((await store.get(Leases, KEY)).spec?.holderIdentity, "");
});

test("a lease that somebody else has by now is left to him", async (t) => {
  const { store, leases } = await held(t);
  await mutate(store, Leases, KEY, (lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: "b_1" } }));
  await leases.release("v-p-1");
  assert.equal((await store.get(Leases, KEY)).spec?.holderIdentity, "b_1");
});
