import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutcome } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import type { SnapshotStatus } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";
import { snapshotObject, volumeObject } from "../../testing/agent.ts";
import { decide, type SnapshotStep, type SnapshotView } from "./decide.ts";

const COPIED_AT = new Date("2026-01-01T00:00:00.123Z");

const statuses: fc.Arbitrary<SnapshotStatus | undefined> = fc.option(
  fc.record(
    {
      readyToUse: fc.boolean(),
      creationTime: fc.constant("2025-12-31T00:00:00.000Z"),
      restoreSize: fc.constant(4096),
      ownerID: fc.constant("n"),
      formatted: fc.constantFrom("ext4", "xfs"),
      error: fc.constant({ code: "INTERNAL", message: "old" }),
    },
    { requiredKeys: ["readyToUse"] },
  ),
  { nil: undefined },
);

function volumeWith(
  size: number | undefined,
  formatted: string | undefined,
  pool: string,
  attached: boolean,
): Volume {
  const volume = volumeObject("v-p-1", { pool, nodeID: attached ? "n" : "" });
  volume.status = attached ? { state: "attached", currentNodeID: "n" } : { state: "detached" };
  if (size !== undefined) volume.status.size = size;
  if (formatted !== undefined) volume.status.formatted = formatted;
  return volume;
}

const views: fc.Arbitrary<SnapshotView> = fc
  .record({
    status: statuses,
    finalizer: fc.boolean(),
    deleting: fc.boolean(),
    poolOpen: fc.boolean(),
    image: fc.option(fc.constant({ size: 4096, createdAt: COPIED_AT }), { nil: undefined }),
    volume: fc.option(
      fc
        .record({
          size: fc.constantFrom(undefined, 4096),
          formatted: fc.constantFrom(undefined, "ext4"),
          pool: fc.constantFrom("p", "q"),
          attached: fc.boolean(),
        })
        .map(({ size, formatted, pool, attached }) => volumeWith(size, formatted, pool, attached)),
      { nil: undefined },
    ),
  })
  .map(({ status, finalizer, deleting, poolOpen, image, volume }) => {
    const snapshot = snapshotObject("s-p-1", "v-p-1");
    if (status !== undefined) snapshot.status = status;
    if (finalizer) snapshot.metadata.finalizers = [ENGINE_FINALIZER];
    if (deleting) snapshot.metadata.deletionTimestamp = COPIED_AT.toISOString();
    return { snapshot, nodeID: "n", poolOpen, image, volume, now: COPIED_AT };
  });

function perform(view: SnapshotView, step: SnapshotStep): SnapshotView | undefined {
  const { snapshot } = view;
  const { metadata } = snapshot;
  switch (step.do) {
    case "add-finalizer":
      return {
        ...view,
        snapshot: { ...snapshot, metadata: { ...metadata, finalizers: [ENGINE_FINALIZER] } },
      };
    case "record":
      return { ...view, snapshot: { ...snapshot, status: step.status } };
    case "copy":
      return { ...view, image: { size: 4096, createdAt: COPIED_AT } };
    case "remove-image":
      return { ...view, image: undefined };
    default:
      return undefined;
  }
}

test("a snapshot ends ready with its image and one point in time, or says why not", () => {
  fc.assert(
    fc.property(views, (start) => {
      const time = start.snapshot.status?.creationTime;
      let view = start;
      for (let steps = 0; ; steps++) {
        assert.ok(steps < 10, "no rest");
        const step = decide(view);
        // Copied once, at the time that is then recorded; never to replace what was lost.
        if (step.do === "copy") assert.equal(view.snapshot.status?.creationTime, undefined);
        if (step.do === "remove-image") assert.ok(view.snapshot.metadata.deletionTimestamp);
        if (step.do === "remove-finalizer") assert.equal(view.image, undefined);
        if (step.do === "record" && time !== undefined) assert.equal(step.status.creationTime, time);
        const next = perform(view, step);
        if (next === undefined) {
          if (
            !isOutcome(step) ||
            step.do === "fail" ||
            view.snapshot.metadata.deletionTimestamp !== undefined
          )
            return;
          const { status } = view.snapshot;
          if (status?.creationTime === undefined) return isWaiting(view);
          assert.ok(status?.readyToUse && view.image !== undefined && status.error === undefined);
          assert.equal(status.creationTime, time ?? COPIED_AT.toISOString());
          assert.equal(status.ownerID, "n");
          return;
        }
        view = next;
      }
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});

/** Not copied, and nothing failed: then only because no ticket keeps the volume here. */
function isWaiting({ volume, image }: SnapshotView): void {
  assert.ok(volume?.status?.state === "detached" && image === undefined);
}

test("a snapshot is made only while its volume is attached here, and not before its backoff after a failure is over", () => {
  const failed = snapshotObject("s-p-1", "v-p-1");
  failed.metadata.finalizers = [ENGINE_FINALIZER];
  const failedAt = new Date(COPIED_AT.getTime() - 500).toISOString();
  failed.status = { readyToUse: false, ownerID: "n", failures: 1, failedAt };
  const base = { snapshot: failed, nodeID: "n", poolOpen: true, image: undefined, now: COPIED_AT };
  const attached = volumeWith(4096, undefined, "p", true);
  assert.deepEqual(decide({ ...base, volume: attached }), { do: "wait", afterMs: 500 });
  const later = new Date(COPIED_AT.getTime() + 500);
  assert.equal(decide({ ...base, volume: attached, now: later }).do, "copy");
  assert.equal(decide({ ...base, volume: volumeWith(4096, undefined, "p", false), now: later }).do, "done");
  const leaving = { ...attached, spec: { ...attached.spec, nodeID: "" } };
  assert.equal(decide({ ...base, volume: leaving, now: later }).do, "done");
});

test("the file system of the source is on record before the copy", () => {
  fc.assert(
    fc.property(views, (view) => {
      if (decide(view).do !== "copy") return;
      assert.equal(view.snapshot.status?.formatted, view.volume?.status?.formatted);
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});
