import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeGroupRevert } from "../../api/group-revert.ts";
import type { Volume } from "../../api/volume.ts";
import { statusReporting } from "./statuses.ts";
import { type MemberView, requestOf } from "./view.ts";

const revert: VolumeGroupRevert = {
  ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "VolumeGroupRevert" },
  metadata: { name: "r", namespace: "default", uid: "r-1" },
  spec: { source: { volumeGroupSnapshotName: "g" } },
};

function member(volume: string, held: boolean, state?: "Restored"): MemberView {
  const restore = state && { request: requestOf(revert), snapshot: "s", state };
  const object = { metadata: { name: volume }, spec: {}, status: { restore } } as unknown as Volume;
  return { volume, claim: volume, snapshot: "s", object, image: undefined, held, users: [] };
}

test("a volume that is back counts among those that were held, whoever has it since", () => {
  const members = [member("a", false, "Restored"), member("b", true), member("c", false)];
  const view = { revert, members, rival: undefined, now: new Date(0) };
  const { volumes } = statusReporting(view, { phase: "Reverting", reason: "x", message: "x" });
  assert.deepEqual(volumes, { total: 3, held: 2, reverted: 1 });
});
