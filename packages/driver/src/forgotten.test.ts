import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, knownKeys } from "@mooring/store/testing";
import { createVolume, startWorld } from "./testing/world.ts";

test("of volumes and snapshots that were made and deleted no controller keeps anything", async (t) => {
  const world = await startWorld();
  t.after(() => world.end());
  const { controller } = world.client;
  const ids: string[] = [];
  const life = async (name: string): Promise<void> => {
    const volumeId = await createVolume(world, name, { access: "block" });
    const { snapshot } = await controller.createSnapshot({ name, sourceVolumeId: volumeId });
    const snapshotId = snapshot?.snapshotId ?? "";
    ids.push(volumeId, snapshotId);
    await controller.deleteSnapshot({ snapshotId });
    await controller.deleteVolume({ volumeId });
  };
  await Promise.all(Array.from({ length: 10 }, (_, index) => life(`passing-${index}`)));
  assert.equal(new Set(ids).size, 20);
  let kept: string[] = [];
  await eventually(
    "all of them to be forgotten",
    async () => {
      kept = knownKeys().filter((key) => ids.some((id) => key.includes(id)));
      return kept.length === 0;
    },
    { lastSeen: () => kept },
  );
});
