import assert from "node:assert/strict";
import { test } from "node:test";
import { type Logger, lastingSleepers, silentLogger } from "@mooring/store";
import { howMany, nothingSleeps, untilEachHasStepped } from "@mooring/store/testing";
import fc from "fast-check";
import { controllerNeeds } from "./rights/needs.ts";
import { startHarness } from "./testing/harness.ts";
import { change, DECLARED, first, forgive, make, makeClasses } from "./testing/history.ts";
import { noteRights, rightsIn } from "./testing/used-rights.ts";

/** Notes what no back-off repairs: a controller that reads what it does not watch, for one. */
function defects(found: unknown[]): Logger {
  const note = (fields: object) => {
    const { err } = fields as { err?: unknown };
    if (err instanceof TypeError) found.push(err);
  };
  const logger: Logger = { ...silentLogger, warn: note, error: note, child: () => logger };
  return logger;
}

/** Controllers that the histories must have given something to do. */
const TAKE_PART = [
  ...[
    "attach",
    "attach/volumes",
    "capacity",
    "csi-driver",
    "group-clone",
    "group-restore",
    "group-snapshot",
    "modify",
  ],
  ...["provision", "reclaim", "resize", "snapshot", "snapshot/claims", "snapshot-content", "volume-group"],
  ...["group-snapshot-content", "source-protection/PersistentVolumeClaim"],
  "source-protection/VolumeSnapshot",
];

test("histories of random changes: no controller of a driver sleeps through what it has to do", async (t) => {
  const found: unknown[] = [];
  const used = new Set<string>();
  const h = await startHarness(t, {
    serve: async (store) => noteRights(store, used),
    driver: {
      can: [
        ...(["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME", "CREATE_DELETE_SNAPSHOT"] as const),
        ...(["LIST_SNAPSHOTS", "CLONE_VOLUME", "EXPAND_VOLUME", "GET_CAPACITY", "MODIFY_VOLUME"] as const),
      ],
      groups: true,
      topology: true,
      volumeGroups: ["modify", "get", "list"],
    },
    sidecars: {
      ...{ logger: defects(found), volumeGroup: { driftMs: 2_000 }, csiDriver: DECLARED },
      capacity: { immediateBinding: true, pollMs: 2_000 },
    },
  });
  await makeClasses(h.store);
  await first(h);
  await untilEachHasStepped(TAKE_PART);
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 24 }),
      fc.boolean(),
      async (history, atOnce) => {
        if (atOnce) await Promise.all(history.map((each) => make(h, each).catch(forgive)));
        else for (const each of history) await make(h, each).catch(forgive);
        assert.deepEqual(await lastingSleepers(), []);
        assert.deepEqual(found, []);
      },
    ),
    { numRuns: howMany({ everyday: 10, full: 90, deep: 2_000 }), endOnFailure: true },
  );
  await nothingSleeps();
  const asked = rightsIn(controllerNeeds(h.sidecars.controllers));
  assert.deepEqual(
    [...used].filter((right) => !asked.has(right)),
    [],
    "used, and not asked for at the start",
  );
});
