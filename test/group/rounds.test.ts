import assert from "node:assert/strict";
import { test } from "node:test";
import type { CsiClient } from "@mooring/csi";
import { type Stage, snapshotTogether } from "./support/rounds.ts";

const LATE = "volume v-1 on node a could not be copied before the deadline";

/** A stage whose barriers say this, one after the other, and then that something is broken. */
function stageOf(...errors: string[]): Stage {
  const createVolumeGroupSnapshot = async () => {
    throw new Error(errors.shift() ?? "broken");
  };
  const ring = { acknowledged: () => 0, advance: async () => {}, stop: async () => {} };
  const client = { groupController: { createVolumeGroupSnapshot } } as unknown as CsiClient;
  return { client, ring, volumes: [], deadline: "default" };
}

const fresh = () => ({ bundle: "b", sets: 0, restored: 0, violations: [], missedDeadlines: 0 });

test("rounds whose barriers all miss their deadline end, with the last reason", async () => {
  const result = fresh();
  const stage = stageOf(...Array.from({ length: 9 }, () => LATE));
  await assert.rejects(
    snapshotTogether(stage, result, async () => {}, 2),
    /5 barriers in a row.*volume v-1 on node a could not be copied/,
  );
  assert.equal(result.missedDeadlines, 5);
});

test("some missed deadlines are counted, what else goes wrong ends the rounds at once", async () => {
  const result = fresh();
  const stage = stageOf(LATE, "the copy of v-1, v-2 was not done within 5 s, after which writes went on");
  await assert.rejects(
    snapshotTogether(stage, result, async () => {}, 2),
    /broken/,
  );
  assert.equal(result.missedDeadlines, 2);
});
