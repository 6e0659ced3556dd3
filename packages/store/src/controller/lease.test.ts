import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Leases } from "../kinds/kubernetes.ts";
import { ResourceRegistry } from "../local/registry.ts";
import { delay, withTimeLimit } from "../runtime/wait.ts";
import { openStore } from "../testing/open-store.ts";
import { refusingStore } from "../testing/refusing-store.ts";
import { acquireLease } from "./lease.ts";
import { decideLease } from "./lease-decide.ts";

const registry = () => new ResourceRegistry([{ resource: Leases, hasStatus: false }]);
const times = { durationMs: 3_000, renewDeadlineMs: 400, retryMs: 50 };

test("one candidate holds the lease; the next gets it when it is released", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const limit = AbortSignal.timeout(60_000);
  const options = (identity: string) => ({ name: "leader", namespace: "default", identity, ...times });
  const first = await acquireLease(store, options("a"), limit);
  let taken = false;
  const second = acquireLease(store, options("b"), limit).then((held) => {
    taken = true;
    return held;
  });
  const before = await store.get(Leases, { namespace: "default", name: "leader" });
  assert.equal(before.spec?.holderIdentity, "a");
  assert.equal(taken, false);
  await first.release();
  assert.ok(first.lost.aborted);
  const held = await second;
  const after = await store.get(Leases, { namespace: "default", name: "leader" });
  assert.deepEqual([after.spec?.holderIdentity, after.spec?.leaseTransitions], ["b", 1]);
  await held.release();
});

test("a holder that cannot renew gives the lease up before anybody else may take over", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const limit = AbortSignal.timeout(60_000);
  const options = { name: "leader", namespace: "default", identity: "a", ...times };
  let broken = false;
  const flaky = refusingStore(store, (method) =>
    broken && method === "update" ? new Error("no network") : undefined,
  );
  const held = await acquireLease(flaky, options, limit);
  broken = true;
  const order: string[] = [];
  held.lost.addEventListener("abort", () => order.push("a has lost"), { once: true });
  const next = await acquireLease(store, { ...options, identity: "b" }, limit);
  order.push("b has taken over");
  assert.deepEqual(order, ["a has lost", "b has taken over"]);
  assert.equal((await store.get(Leases, { namespace: "default", name: "leader" })).spec?.holderIdentity, "b");
  await next.release();
});

test("who may take a lease", () => {
  const view = { identity: "me", durationMs: 15_000, unchangedMs: 0, now: "2030-01-01T00:00:00.000000Z" };
  const held = { holderIdentity: "other", leaseDurationSeconds: 10, leaseTransitions: 4 };
  assert.equal(decideLease(undefined, view).kind, "write");
  assert.equal(decideLease({ ...held, holderIdentity: "me" }, view).kind, "write");
  assert.equal(decideLease({ ...held, holderIdentity: "" }, view).kind, "write");
  assert.equal(decideLease(held, { ...view, unchangedMs: 9_999 }).kind, "wait");
  const taken = decideLease(held, { ...view, unchangedMs: 10_000 });
  assert.equal(taken.kind === "write" && taken.spec.leaseTransitions, 5);
});

test("a lease whose response comes too late is given up: for the others its time has run since the write", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const options = { name: "leader", namespace: "default", identity: "a", ...times };
  const renewals: string[] = [];
  const slow = refusingStore(store, (method) => {
    if (method === "update") renewals.push(method);
    return undefined;
  });
  const create = slow.create.bind(slow);
  const late: typeof slow.create = async (...args) => {
    const stored = await create(...args);
    await delay(times.renewDeadlineMs + 10);
    return stored;
  };
  const limit = withTimeLimit(60_000);
  const lateStore = new Proxy(slow, {
    get: (target, name) => (name === "create" ? late : Reflect.get(target, name, target)),
  });
  const held = await acquireLease(lateStore, options, limit);
  if (!held.lost.aborted) await once(held.lost, "abort");
  assert.deepEqual(renewals, [], "it was renewed as if it had just been taken");
});
