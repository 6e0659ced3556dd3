import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  isConflict,
  type Lease,
  Leases,
  LocalStore,
  mutate,
  type ObjectStore,
  silentLogger,
} from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { LEASE_NAMESPACE, LEASE_NODE_LABEL } from "../api/names.ts";
import { createHost } from "../host/create-host.ts";
import { engineRegistry, volumeObject } from "../testing/agent.ts";
import { MIB, scratch, sparse } from "../testing/scratch.ts";
import { CLUSTER, FENCED_BY, isShutOut, isTaken, SHUT_OUT } from "./decide.ts";
import { DeviceGuard } from "./guard.ts";
import { ImageLeases } from "./image-leases.ts";
import { LeaseWatch, leaseName } from "./lease-watch.ts";

const host = createHost();
/** Longer than a busy machine takes for a few writes. */
const TIMES = { durationMs: 20_000, safetyMs: 4_000 };
const KEY = { namespace: LEASE_NAMESPACE, name: leaseName("v-p-1") };

interface HeldLease {
  store: LocalStore;
  leases: ImageLeases;
  dir: string;
  /** Images of which something has changed. */
  changed: string[];
}

/** The lease of one image, held by the agent of node a. `writing` comes before each update of it. */
async function held(
  t: TestContext,
  writing: (lease: Lease, signal: AbortSignal) => Promise<void> = async () => {},
): Promise<HeldLease> {
  const dir = await scratch(t, host);
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  t.after(() => store.close());
  const { clock } = host;
  const changed: string[] = [];
  const update: ObjectStore["update"] = async (resource, object, options = {}) => {
    await writing(object, options.signal ?? new AbortController().signal);
    return store.update(resource, object, options);
  };
  const leases = new ImageLeases({
    ...{ clock, logger: silentLogger, nodeID: "a", identity: "a_1", times: TIMES },
    store: new Proxy(store, {
      get: (of, name) => (name === "update" ? update : Reflect.get(of, name, of).bind(of)),
    }),
    guard: await DeviceGuard.open(join(dir, "lease-guard"), clock),
    watch: new LeaseWatch(store, clock, silentLogger),
    onChanged: (image) => changed.push(image),
    onLost: () => {},
    endsByCluster: (pool) => pool === "cluster",
  });
  assert.equal(
    await leases.acquire(volumeObject("v-p-1", { nodeID: "a" }), new AbortController().signal),
    undefined,
  );
  return { store, leases, dir, changed };
}

test("a renewal that hangs does not take the guard from other images meanwhile", thorough(), async (t) => {
  const stop = new AbortController();
  let hangs: boolean | undefined;
  const { leases, store, dir } = await held(t, async ({ metadata }, signal) => {
    if (metadata.name !== leaseName("v-p-2")) return;
    hangs = true;
    await once(signal, "abort");
    hangs = false;
  });
  await leases.acquire(volumeObject("v-p-2", { nodeID: "a" }), stop.signal);
  const device = await host.loops.attach(await sparse(join(dir, "image"), MIB));
  await leases.protect("v-p-1", device);
  const before = (await store.get(Leases, KEY)).spec?.renewTime;

  const running = leases.run(stop.signal);
  try {
    await eventually("a renewal", async () => (await store.get(Leases, KEY)).spec?.renewTime !== before);
    await eventually("the device to be guarded", () => leases.protects("v-p-1", device));
    assert.equal(hangs, true);
  } finally {
    stop.abort();
    await running;
  }
});

test("whoever has read about a lease hears that it was taken, guarded and given back", async (t) => {
  const { leases, dir, changed } = await held(t);
  assert.deepEqual(changed.splice(0), ["v-p-1"]);
  const device = await host.loops.attach(await sparse(join(dir, "image"), MIB));
  await leases.protect("v-p-1", device);
  assert.deepEqual(changed.splice(0), ["v-p-1"]);
  await leases.release("v-p-1");
  assert.deepEqual(changed, ["v-p-1"]);
});

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

test("a lease in a cluster is kept without a renewal, and taken from a lost node for whoever shuts it out", async (t) => {
  const { store, leases } = await held(t);
  const { signal } = new AbortController();
  const volume = volumeObject("v-p-3", { nodeID: "a", pool: "cluster" });
  const key = { ...KEY, name: leaseName("v-p-3") };
  assert.equal(await leases.acquire(volume, signal), undefined);
  const mine = await store.get(Leases, key);
  assert.equal(mine.metadata.annotations?.[FENCED_BY], CLUSTER);
  const lost = await mutate(store, Leases, key, (lease) => {
    const labels = { ...lease.metadata.labels, [LEASE_NODE_LABEL]: "b" };
    return {
      ...lease,
      metadata: { ...lease.metadata, labels },
      spec: { ...lease.spec, holderIdentity: "b_1" },
    };
  });
  assert.equal((await leases.acquire(volume, signal))?.do, "wait");
  await assert.rejects(leases.takeAway(volume, mine, "b", signal), isConflict, "it has renewed meanwhile");
  const taken = await leases.takeAway(volume, lost, "b", signal);
  assert.equal(isTaken(taken), true);
  assert.equal(isShutOut(taken, "b"), false);
  await leases.markShutOut(taken, "b", signal);
  assert.equal(isShutOut(await store.get(Leases, key), "b"), true);
  assert.equal(await leases.acquire(volume, signal), undefined);
  assert.equal(leases.takenFrom("v-p-3"), "b_1");
  assert.equal((await store.get(Leases, key)).metadata.annotations?.[SHUT_OUT], undefined);
});

test("a lease that could not be given back is given back by the next attempt", async (t) => {
  let fails = true;
  const { leases, store } = await held(t, async ({ spec }) => {
    if (fails && spec?.holderIdentity === "") throw new Error("the API server is away");
  });
  await assert.rejects(leases.release("v-p-1"), /the API server is away/);
  assert.equal((await store.get(Leases, KEY)).spec?.holderIdentity, "a_1");
  fails = false;
  await leases.release("v-p-1");
  assert.equal((await store.get(Leases, KEY)).spec?.holderIdentity, "");
  assert.equal(leases.holds("v-p-1"), false);
});

test("a device under which the machine hangs keeps no other lease from being renewed", async (t) => {
  const dir = await scratch(t, host);
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  t.after(() => store.close());
  const { clock } = host;
  const stop = new AbortController();
  const hanging = new Set<string>();
  const guard = await DeviceGuard.open(join(dir, "lease-guard"), clock);
  const fence: DeviceGuard["fence"] = async (image) => {
    hanging.add(image);
    await once(stop.signal, "abort");
  };
  const leases = new ImageLeases({
    ...{ clock, logger: silentLogger, nodeID: "a", identity: "a_1", store },
    times: { durationMs: 4_000, safetyMs: 1_000 },
    guard: new Proxy(guard, {
      get: (of, name) => (name === "fence" ? fence : Reflect.get(of, name, of).bind(of)),
    }),
    watch: new LeaseWatch(store, clock, silentLogger),
    ...{ onChanged: () => {}, onLost: () => {}, endsByCluster: (pool) => pool === "cluster" },
  });
  for (const name of ["v-p-1", "v-p-2"])
    await leases.acquire(volumeObject(name, { nodeID: "a", pool: "cluster" }), stop.signal);
  const running = leases.run(stop.signal);
  try {
    // By an operator's hand: the first renewal finds it out.
    await mutate(store, Leases, KEY, (lease) => {
      lease.spec = { ...lease.spec, holderIdentity: "b_1" };
    });
    await eventually("the device to be fenced", () => hanging.has("v-p-1"));
    const other = { namespace: LEASE_NAMESPACE, name: leaseName("v-p-2") };
    const before = (await store.get(Leases, other)).spec?.renewTime;
    await eventually("a renewal", async () => (await store.get(Leases, other)).spec?.renewTime !== before);
    assert.equal(leases.holds("v-p-2"), true);
  } finally {
    stop.abort();
    await running;
  }
});
