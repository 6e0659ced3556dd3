import assert from "node:assert/strict";
import { test } from "node:test";
import { reconcileCounts } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { Snapshots } from "../../api/snapshot.ts";
import { Bench } from "../../testing/agent.ts";

test("a snapshot that cannot be begun is reported once, however often it is tried again", async (t) => {
  const bench = await Bench.open(t, "directory");
  await bench.createSnapshot("s-p-1", "v-p-9");
  const { metadata } = await bench.snapshot("s-p-1", ({ status }) => status?.error !== undefined);
  const failures = () => reconcileCounts().get("node/snapshot")?.failures ?? 0;
  const before = failures();
  await eventually("three more attempts", () => failures() >= before + 3);
  const after = await bench.store.get(Snapshots, { name: "s-p-1" });
  assert.equal(after.metadata.resourceVersion, metadata.resourceVersion, JSON.stringify(after.status));
});
