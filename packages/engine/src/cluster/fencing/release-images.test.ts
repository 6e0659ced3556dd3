import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeStatus } from "../../api/volume.ts";
import { volumeObject } from "../../testing/agent.ts";
import { statusWithout } from "./release-images.ts";

const ATTACHED: VolumeStatus = {
  ...{ state: "attached", robustness: "healthy", ownerID: "a", currentNodeID: "a", device: "/dev/loop1" },
  ...{ frontendDisabled: false, size: 4096, formatted: "xfs" },
};

function without(status: VolumeStatus | undefined, nodeID = "a", wanted = "a") {
  const volume = volumeObject("v-p-1", { nodeID: wanted });
  return statusWithout(status === undefined ? volume : { ...volume, status }, nodeID);
}

test("a volume that a node was shut out of is recorded as that node would when it has closed it", () => {
  const closed = { state: "detached", robustness: "unknown", ownerID: "", size: 4096, formatted: "xfs" };
  for (const state of ["attaching", "attached", "detaching", "detached"] as const)
    assert.deepEqual(without({ ...ATTACHED, state }), closed);
  const error = { code: "INTERNAL", message: "what its node said last" };
  assert.deepEqual(without({ ...ATTACHED, error }), closed);
});

test("what is being made or removed goes on elsewhere, and a damage stays one", () => {
  for (const state of ["creating", "deleting"] as const)
    assert.deepEqual(without({ state, robustness: "unknown", ownerID: "a" }), {
      ...{ state, robustness: "unknown", ownerID: "" },
    });
  const error = { code: "DATA_LOSS", message: "the image is gone" };
  const faulted = without({ ...ATTACHED, robustness: "faulted", error });
  assert.deepEqual([faulted?.robustness, faulted?.error, faulted?.state], ["faulted", error, "detached"]);
});

test("another node's record stays, and what is being handed over is its target's to end", () => {
  assert.equal(without(undefined), undefined);
  assert.equal(without({ ...ATTACHED, ownerID: "b" }), undefined);
  assert.equal(without({ ...ATTACHED, ownerID: "" }), undefined);
  assert.equal(without({ ...ATTACHED, currentMigrationNodeID: "b" }, "a", "b"), undefined);
});
