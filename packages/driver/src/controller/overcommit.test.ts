import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PoolType } from "@mooring/engine";
import { covers, eventually, sample } from "@mooring/store/testing";
import { capability, createVolume, failureOf, MIB, startWorld, type World } from "../testing/world.ts";

const GIB = 1024n * MIB;

for (const pool of sample(["xfs", "btrfs"] as PoolType[], { everyday: 1 })) {
  describe(`thin volumes in a ${pool} pool with an over-commit factor`, () => {
    test("capacity, new volumes, copies and growth keep to it, snapshots need not, and it can be raised", async () => {
      covers("CSI-122", "CSI-196");
      let overcommit = 1;
      const world = await startWorld({ pool, overcommit: () => overcommit });
      try {
        await keepsTo(world);
        overcommit = 2;
        await world.restart();
        const room = await capacityOf(world);
        assert.ok(room > 7n * GIB && room <= 9n * GIB, `room for ${room}`);
        await createVolume(world, "now", { access: "block", size: 2n * GIB });
      } finally {
        await world.end();
      }
    });
  });
}

async function capacityOf({ client }: World): Promise<bigint> {
  const { availableCapacity, maximumVolumeSize } = await client.controller.getCapacity({});
  assert.equal(maximumVolumeSize, availableCapacity);
  return availableCapacity;
}

async function keepsTo(world: World): Promise<void> {
  const { controller } = world.client;
  const all = await capacityOf(world);
  assert.ok(all > 7n * GIB && all <= 8n * GIB, "no more than there is");
  const create = (name: string, size: bigint, more: object = {}) =>
    controller.createVolume({
      ...{ name, capacityRange: { requiredBytes: size }, ...more },
      volumeCapabilities: [capability({ access: "block" })],
    });
  const tooMuch = await failureOf(create("too-much", all + 4096n));
  assert.equal(tooMuch.code, "RESOURCE_EXHAUSTED");
  assert.match(
    tooMuch.message,
    /pool "default" has room for [\d.]+ GiB: 0 B are promised, its [\d.]+ GiB may be promised 1 times/,
  );
  const volumeId = await createVolume(world, "large", { access: "block", size: all - 64n * MIB });
  await eventually("the pool to report what is left", async () => (await capacityOf(world)) === 64n * MIB);
  const source = { volumeContentSource: { type: { case: "volume" as const, value: { volumeId } } } };
  const refused = [
    ["RESOURCE_EXHAUSTED", () => create("second", 65n * MIB)],
    ["RESOURCE_EXHAUSTED", () => create("copy", all, source)],
    [
      "OUT_OF_RANGE",
      () => controller.controllerExpandVolume({ volumeId, capacityRange: { requiredBytes: all + MIB } }),
    ],
  ] as const;
  for (const [code, call] of refused) {
    const failure = await failureOf(call());
    assert.equal(failure.code, code, failure.message);
    assert.match(failure.message, /promised/);
  }
  assert.equal((await controller.listVolumes({})).entries.length, 1);
  // Nobody writes into a snapshot.
  await controller.createSnapshot({ name: "snap", sourceVolumeId: volumeId });
  const grown = await controller.controllerExpandVolume({ volumeId, capacityRange: { requiredBytes: all } });
  assert.equal(grown.capacityBytes, all);
  await eventually("nothing to be left", async () => (await capacityOf(world)) === 0n);
}
