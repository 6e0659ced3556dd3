import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, metricsText } from "@mooring/csi";
import { VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
import { fresh, groupWorld } from "../testing/group-world.ts";
import { snapshotContent } from "../testing/objects.ts";
import { errorOf, ready, remove, snapshotGone, start, vs } from "../testing/snapshot-world.ts";
import { snapshotMetrics } from "./snapshot-metrics.ts";

const IN_FLIGHT = "snapshot_controller_operations_in_flight";

/** How many have ended, by `operation type status`. */
function ended(): Map<string, number> {
  const line =
    /^snapshot_controller_operation_total_seconds_count\{driver_name="[^"]+",operation_name="(\w+)",snapshot_type="([\w-]+)",operation_status="(\w+)"\} (\d+)$/;
  const found = metricsText(snapshotMetrics())
    .split("\n")
    .flatMap((text) => {
      const [, ...labels] = line.exec(text) ?? [];
      return labels.length === 0 ? [] : [[labels.slice(0, 3).join(" "), Number(labels[3])] as const];
    });
  return new Map(found);
}

/** Those that have ended since: the numbers are of the whole process. */
function since(before: ReadonlyMap<string, number>): string[] {
  return [...ended()].flatMap(([name, count]) => {
    const more = count - (before.get(name) ?? 0);
    return more === 0 ? [] : [`${more} ${name}`];
  });
}

const inFlight = () => Number(/_in_flight (\d+)/.exec(metricsText(snapshotMetrics()))?.[1]);

test("snapshots are counted under the names of snapshot-controller", async (t) => {
  const [before, running] = [ended(), inFlight()];
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  await remove(h);
  await snapshotGone(h);
  await h.until("its end is counted", () => since(before).length === 3);
  assert.deepEqual(since(before).sort(), [
    "1 CreateSnapshot dynamic success",
    "1 CreateSnapshotAndReady dynamic success",
    "1 DeleteSnapshot dynamic success",
  ]);
  assert.equal(inFlight(), running, IN_FLIGHT);
});

test("a snapshot that is deleted before it is made is counted as cancelled", async (t) => {
  const [before, running] = [ended(), inFlight()];
  const h = await start(t);
  const fault = { method: "CreateSnapshot", code: Code.INTERNAL, message: "array offline" };
  h.driver.faults.add({ ...fault, times: Number.POSITIVE_INFINITY });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await errorOf(h, /array offline/);
  assert.equal(inFlight(), running + 2, IN_FLIGHT);
  await remove(h);
  await snapshotGone(h);
  await h.until("its end is counted", () => since(before).length === 3);
  assert.deepEqual(since(before).sort(), [
    "1 CreateSnapshot dynamic cancel",
    "1 CreateSnapshotAndReady dynamic cancel",
    "1 DeleteSnapshot dynamic success",
  ]);
  assert.equal(inFlight(), running, IN_FLIGHT);
});

test("what is brought in is not counted as made, and a group has names of its own", async (t) => {
  const [before, running] = [ended(), inFlight()];
  const h = await start(t);
  const [volume] = h.driver.backend.volumes.values();
  const { id } = h.driver.backend.createSnapshot("old", volume?.id ?? "", 0);
  const volumeSnapshotRef = { name: "snap", namespace: "default" };
  const content = snapshotContent("imported", { source: { snapshotHandle: id }, volumeSnapshotRef });
  const { volumeSnapshotClassName: _none, ...spec } = content.spec;
  await h.store.create(VolumeSnapshotContents, { ...fresh(content), spec });
  await h.store.create(VolumeSnapshots, vs("snap", { source: { volumeSnapshotContentName: "imported" } }));
  await ready(h);
  await h.until("it is counted", () => since(before).length === 1);
  assert.deepEqual(since(before), ["1 CreateSnapshotAndReady pre-provisioned success"]);
  await h.stop();
  const after = ended();
  const w = await groupWorld(t);
  await w.claims("log", "data");
  await w.create("group");
  await w.ready();
  await w.remove();
  await w.gone();
  await w.h.until("its end is counted", () => since(after).length === 3);
  assert.deepEqual(since(after).sort(), [
    "1 CreateGroupSnapshot dynamic success",
    "1 CreateGroupSnapshotAndReady dynamic success",
    "1 DeleteGroupSnapshot dynamic success",
  ]);
  assert.equal(inFlight(), running, IN_FLIGHT);
});
