import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers, eventually } from "@mooring/store/testing";
import { capability, failureOf, MIB, startWorld, type World } from "../testing/world.ts";

const THICK = { provisioningType: "thick" };

function create({ client }: World, name: string, size: bigint, more: object = {}) {
  return client.controller.createVolume({
    ...{ name, capacityRange: { requiredBytes: size }, parameters: THICK },
    volumeCapabilities: [capability({ access: "block" })],
    ...more,
  });
}

async function room({ client }: World, parameters: Record<string, string>): Promise<bigint> {
  return (await client.controller.getCapacity({ parameters })).availableCapacity;
}

describe("provisioningType of a class", () => {
  test("thick: its room is taken from what is left, it grows only where there is room, and it stays what it is", async () => {
    covers("CSI-122", "CSI-196");
    const world = await startWorld({ overcommit: () => 2 });
    try {
      const { controller } = world.client;
      await eventually("the pool to be open", async () => (await room(world, THICK)) > 0n);
      const before = { thick: await room(world, THICK), thin: await room(world, {}) };
      assert.ok(before.thin > before.thick, "what is thick is not promised twice");
      const size = before.thick / 2n - ((before.thick / 2n) % MIB);
      const { volume } = await create(world, "thick", size);
      const volumeId = volume?.volumeId ?? "";
      assert.equal(volume?.capacityBytes, size);
      await eventually(
        "the pool to report it",
        async () => (await room(world, THICK)) <= before.thick - size,
      );

      const again = await create(world, "thick", size);
      assert.equal(again.volume?.volumeId, volumeId);
      const thin = await failureOf(
        create(world, "thick", size, { parameters: { provisioningType: "thin" } }),
      );
      assert.equal(thin.code, "ALREADY_EXISTS");
      assert.match(thin.message, /parameters/);

      const second = await failureOf(create(world, "second", size + 512n * MIB));
      assert.equal(second.code, "RESOURCE_EXHAUSTED");
      assert.match(
        second.message,
        /no pool has room for a thick volume of [\d.]+ [GM]iB \(pool "default" has room for [\d.]+ [GM]iB: of its [\d.]+ GiB/,
      );
      const expand = (requiredBytes: bigint) =>
        controller.controllerExpandVolume({ volumeId, capacityRange: { requiredBytes } });
      const grown = await failureOf(expand(2n * size + 512n * MIB));
      assert.equal(grown.code, "OUT_OF_RANGE");
      assert.equal((await expand(size + MIB)).capacityBytes, size + MIB);
    } finally {
      await world.end();
    }
  });

  test("what cannot be is refused, and nothing is made", async () => {
    const world = await startWorld({ pool: "btrfs" });
    try {
      await eventually("the pool to be open", async () => (await room(world, {})) > 0n);
      assert.equal(await room(world, THICK), 0n);
      const refused: [RegExp, object][] = [
        [
          /"provisioningType": "fat" is neither "thin" nor "thick"/,
          { parameters: { provisioningType: "fat" } },
        ],
        [/pool "default" has no thick volumes/, {}],
        [/a thick volume keeps all its blocks/, { mutableParameters: { discard: "true" } }],
      ];
      for (const [message, more] of refused) {
        const failure = await failureOf(create(world, "refused", 64n * MIB, more));
        assert.equal(failure.code, "INVALID_ARGUMENT", failure.message);
        assert.match(failure.message, message);
      }
      assert.equal((await world.client.controller.listVolumes({})).entries.length, 0);
    } finally {
      await world.end();
    }
  });
});
