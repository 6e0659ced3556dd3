import assert from "node:assert/strict";
import { test } from "node:test";
import { type VolumeGroup, VolumeGroupContents, VolumeGroups } from "@mooring/sidecars";
import { Events, type Resource } from "@mooring/store";
import { explainVolumeGroup } from "./explain-volume-group.ts";
import { contextOf } from "./kinds.ts";
import { renderFinding } from "./render.ts";
import { storeOf } from "./testing.ts";

const KINDS = [Events, VolumeGroupContents, VolumeGroups] as Resource[];

/** A group that is wanted and not there, for the reason that its conditions have. */
function failing(message: string): VolumeGroup & Required<Pick<VolumeGroup, "status">> {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const is = (type: string, status: "True" | "False") => ({
    ...{ type, status, reason: "CallFailed", message, lastTransitionTime },
  });
  return {
    ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "VolumeGroup" },
    metadata: { name: "vault", namespace: "shop" },
    spec: { source: { claimNames: [] } },
    status: {
      ready: false,
      memberCount: 0,
      conditions: [is("Bound", "False"), is("Ready", "False"), is("Degraded", "True")],
    },
  };
}

test("a group that has no secret to call with gets the command that makes it; one that is refused, the driver's words", async (t) => {
  const store = await storeOf(t, KINDS);
  const made = await store.create(VolumeGroups, failing("secret shop/groups-vault does not exist"));
  const why = async () => renderFinding(await explainVolumeGroup(contextOf(store), "shop", "vault"));
  const text = await why();
  assert.match(text, /FAILED {2,}VolumeGroup shop\/vault: secret shop\/groups-vault does not exist/);
  assert.match(text, /next: create it .*kubectl create secret generic groups-vault -n shop/);
  assert.doesNotMatch(text, /driver/);
  await store.updateStatus(VolumeGroups, { ...made, status: failing("no such tier").status });
  assert.match(await why(), /no such tier[\s\S]*next: put right what the driver reports/);
});
