import assert from "node:assert/strict";
import { test } from "node:test";
import { type VolumeGroupRestore, VolumeGroupRestores } from "@mooring/sidecars";
import type { Resource } from "@mooring/store";
import { storeOf } from "../why/testing.ts";
import { createGroupRestore, untilComplete } from "./restore.ts";

const status = (
  phase: "Complete" | "Ready",
  reason: string,
  message: string,
): NonNullable<VolumeGroupRestore["status"]> => ({
  ...{ phase, message },
  conditions: [
    { type: "Complete", status: "True", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
});

test("a restore into a new group is waited for until its claims are in that group", async (t) => {
  const store = await storeOf(t, [VolumeGroupRestores] as Resource[]);
  const made = await createGroupRestore(store, {
    ...{ namespace: "shop", name: "again", from: "noon", sizes: {}, names: {}, into: { name: "copies" } },
  });
  const grouping = await store.updateStatus(VolumeGroupRestores, {
    ...made,
    status: status(
      "Complete",
      "Grouping",
      "2 of 2 claims are bound; 0 of 2 claims are in VolumeGroup copies",
    ),
  });
  const waiting = untilComplete(store, { namespace: "shop", name: "again", seconds: 60 });
  const [done] = await Promise.all([
    waiting,
    store.updateStatus(VolumeGroupRestores, {
      ...grouping,
      status: status("Ready", "AllClaimsBound", "2 of 2 claims are bound"),
    }),
  ]);
  assert.equal(done?.status?.phase, "Ready");
});
