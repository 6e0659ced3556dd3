import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";
import { snapshotObject, volumeObject } from "../../../testing/agent.ts";
import { decide } from "./decide.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

function wanted(change: (objects: { snapshot: Snapshot; volume: Volume }) => void) {
  const snapshot = snapshotObject("s-p-1", "v-p-1");
  const volume = volumeObject("v-p-1");
  volume.status = { state: "detached", size: 4096, ownerID: "a" };
  change({ snapshot, volume });
  const plan = decide({ snapshot, volume, now: NOW });
  return { ticket: plan.tickets[0]?.wanted, afterMs: plan.afterMs };
}

test("an uncut snapshot wants its volume where it is, with or without a device", () => {
  covers("LHA-046");
  const { ticket } = wanted(() => {});
  const { id, type, nodeID, parameters, owner } = ticket ?? {};
  assert.deepEqual(
    [id, type, nodeID, parameters, owner?.kind, owner?.name],
    [
      "snapshot-controller-s-p-1",
      "snapshot-controller",
      "a",
      { disableFrontend: "any" },
      "Snapshot",
      "s-p-1",
    ],
  );
  const follows = wanted(({ volume }) => {
    volume.status = { state: "attached", size: 4096, ownerID: "a", currentNodeID: "b" };
  });
  assert.equal(follows.ticket?.nodeID, "b");
});

/** What ends the wish for a ticket. */
const ENDS: [string, (objects: { snapshot: Snapshot; volume: Volume }) => void][] = [
  [
    "the copy is recorded",
    ({ snapshot: s }) => {
      s.status = { readyToUse: true, creationTime: "2026-01-01T00:00:00Z" };
    },
  ],
  [
    "the snapshot is deleted",
    ({ snapshot: s }) => {
      s.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    },
  ],
  [
    "it can never be made",
    ({ snapshot: s }) => {
      s.status = { readyToUse: false, error: { code: "INVALID_ARGUMENT", message: "" } };
    },
  ],
  [
    "the volume is deleted",
    ({ volume: v }) => {
      v.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    },
  ],
  [
    "the volume is not made yet",
    ({ volume: v }) => {
      v.status = { state: "creating", ownerID: "a" };
    },
  ],
  [
    "the volume is faulted",
    ({ volume: v }) => {
      v.status = { state: "detached", size: 1, ownerID: "a", robustness: "faulted" };
    },
  ],
  [
    "it is in another pool",
    ({ volume: v }) => {
      v.spec.pool = "q";
    },
  ],
];
for (const [what, change] of ENDS) {
  test(`no ticket when ${what}`, () => {
    covers("LHA-047");
    return assert.deepEqual(wanted(change), { ticket: undefined, afterMs: undefined });
  });
}

test("a failed attempt lets the volume go until the next one, and waits longer each time", () => {
  const after = (failures: number) =>
    wanted(({ snapshot }) => {
      snapshot.status = { readyToUse: false, failures, failedAt: NOW.toISOString() };
    });
  assert.deepEqual(
    [1, 2, 3, 30].map((n) => after(n).afterMs),
    [1000, 2000, 4000, 60_000],
  );
  assert.equal(after(1).ticket, undefined);
});
