import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Leases, LocalStore, silentLogger } from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { runAsLeader } from "./leader.ts";
import { testRegistry } from "./testing/registry.ts";

test("who fails as the leader gives the lease back, and says why it has failed", thorough(), async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-leader-"));
  t.after(() => rm(folder, { recursive: true }));
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  t.after(() => store.close());
  const candidate = { store, name: "leads", logger: silentLogger };
  const fails = async () => {
    throw new Error("the driver is not ready");
  };
  await assert.rejects(runAsLeader(candidate, {}, fails, AbortSignal.timeout(60_000)), /is not ready/);
  const { spec } = await store.get(Leases, { name: "leads", namespace: "kube-system" });
  assert.equal(spec?.holderIdentity, "");
});
