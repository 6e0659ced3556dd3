import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { CsiClient } from "@mooring/csi";
import { openResult } from "./results.ts";
import { onStage, snapshotApart, snapshotTogether } from "./rounds.ts";
import { type Row, snapshotsOf, timeIsUp, titleOf } from "./rows.ts";
import type { Site } from "./volume-set.ts";

/** Plays a row, or what is left of it: group snapshots are each one moment, and independent ones are seen not to be. */
export async function proveRow(
  t: TestContext,
  row: Row,
  client: CsiClient,
  sites: () => Promise<readonly Site[]>,
): Promise<void> {
  const { result, save } = await openResult(titleOf(row));
  const sets = snapshotsOf(row);
  const open = () => result.sets < sets || result.control === undefined;
  if (open() && !timeIsUp()) {
    await onStage(client, await sites(), row, async (stage) => {
      await snapshotTogether(stage, result, save, sets);
      if (timeIsUp()) return;
      result.control = (await snapshotApart(stage)).violations.length;
      await save();
    });
  }
  if (open()) t.diagnostic(`the time is up: ${result.sets} of ${sets} sets, to be continued`);
  assert.deepEqual(result.violations, [], "every group snapshot is one moment");
  assert.notEqual(result.control, 0, "the harness sees that independent snapshots differ");
}
