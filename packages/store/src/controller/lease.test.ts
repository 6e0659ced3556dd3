import assert from "node:assert/strict";
import { test } from "node:test";
import { Leases } from "../kinds/kubernetes.ts";
import { ResourceRegistry } from "../local/registry.ts";
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
