import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type CsiClient, v1 } from "@mooring/csi";
import { poolLayout } from "@mooring/engine";
import { sample } from "@mooring/store/testing";
import { createVolume, failureOf, MIB, startWorld, type World } from "../testing/world.ts";

const SIZE = 64n * MIB;
const PAGE = 4096;

type Messages = AsyncIterable<v1.GetMetadataAllocatedResponse | v1.GetMetadataDeltaResponse>;

/** All ranges of a stream, as [offset, size], and the number of its messages. */
async function read(messages: Messages, max = Number.POSITIVE_INFINITY) {
  const ranges: [number, number][] = [];
  let count = 0;
  for await (const { blockMetadataType, volumeCapacityBytes, blockMetadata } of messages) {
    count += 1;
    assert.equal(blockMetadataType, v1.BlockMetadataType.VARIABLE_LENGTH);
    assert.equal(volumeCapacityBytes, SIZE);
    assert.ok(blockMetadata.length <= max);
    for (const { byteOffset, sizeBytes } of blockMetadata)
      ranges.push([Number(byteOffset), Number(sizeBytes)]);
  }
  return { ranges, count };
}

async function snapshotOf(client: CsiClient, sourceVolumeId: string, name: string): Promise<string> {
  const { snapshot } = await client.controller.createSnapshot({ sourceVolumeId, name });
  return snapshot?.snapshotId ?? "";
}

for (const type of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  describe(`snapshot metadata on ${type}`, () => {
    let world: World;
    let volume: string;
    let first: string;
    let second: string;
    const write = async (page: number): Promise<void> => {
      const { images } = poolLayout(type, join(world.folder, "state", "pools", "default"));
      const image = await open(join(images, `${volume}.img`), "r+");
      await image.write(Buffer.alloc(PAGE, 7), 0, PAGE, page * PAGE);
      await image.close();
    };
    const allocated = (snapshotId: string, more: { startingOffset?: bigint; maxResults?: number } = {}) =>
      world.client.snapshotMetadata.getMetadataAllocated({ snapshotId, ...more });
    const delta = (baseSnapshotId: string, targetSnapshotId: string, startingOffset = 0n, maxResults = 0) =>
      world.client.snapshotMetadata.getMetadataDelta({
        ...{ baseSnapshotId, targetSnapshotId, startingOffset, maxResults },
      });
    const failure = (messages: Messages) => failureOf(read(messages));

    before(async () => {
      world = await startWorld({ pool: type });
      volume = await createVolume(world, "tracked", { size: SIZE, access: "block" });
      for (const page of [3, 5, 9]) await write(page);
      first = await snapshotOf(world.client, volume, "first");
      for (const page of [5, 100]) await write(page);
      second = await snapshotOf(world.client, volume, "second");
    });
    after(() => world.end());

    test("allocated blocks and changed blocks of real snapshots", async () => {
      const pages = (...list: number[]) => list.map((page) => [page * PAGE, PAGE]);
      assert.deepEqual((await read(allocated(first))).ranges, pages(3, 5, 9));
      assert.deepEqual((await read(allocated(second))).ranges, pages(3, 5, 9, 100));
      assert.deepEqual((await read(delta(first, second))).ranges, pages(5, 100));
    });

    test("a stream without ranges still gives the capacity", async () => {
      assert.deepEqual(await read(delta(first, first)), { ranges: [], count: 1 });
      assert.deepEqual(await read(allocated(first, { startingOffset: SIZE })), { ranges: [], count: 1 });
    });

    test("max_results limits every message, starting_offset continues a stream", async () => {
      const { ranges, count } = await read(allocated(second, { maxResults: 3 }), 3);
      assert.deepEqual([ranges.length, count], [4, 2]);
      const [, [offset, size] = [0, 0], ...rest] = ranges;
      const continued = await read(
        allocated(second, { startingOffset: BigInt(offset + size), maxResults: 1 }),
        1,
      );
      assert.deepEqual(continued.ranges, rest);
      assert.deepEqual((await read(delta(first, second, BigInt(6 * PAGE)))).ranges, [[100 * PAGE, PAGE]]);
      // In the middle of a block: nothing that ends before it.
      const middle = await read(allocated(second, { startingOffset: BigInt(5 * PAGE + 10) }));
      assert.ok(middle.ranges.every(([at, length]) => at + length > 5 * PAGE + 10));
      assert.equal(middle.ranges.length, 3);
    });

    test("the error table: missing, unknown, out of range, of another volume, in the wrong order", async () => {
      const other = await createVolume(world, "other", { size: SIZE, access: "block" });
      const unrelated = await snapshotOf(world.client, other, "unrelated");
      const cases: [Messages, string, RegExp][] = [
        [allocated(""), "INVALID_ARGUMENT", /snapshot_id is required/],
        [delta("", second), "INVALID_ARGUMENT", /base_snapshot_id is required/],
        [delta(first, ""), "INVALID_ARGUMENT", /target_snapshot_id is required/],
        [allocated("s-unknown"), "NOT_FOUND", /does not exist/],
        [allocated("../../etc/passwd"), "NOT_FOUND", /does not exist/],
        [delta("s-unknown", second), "NOT_FOUND", /s-unknown/],
        [delta(first, "s-unknown"), "NOT_FOUND", /s-unknown/],
        [allocated(first, { startingOffset: -1n }), "OUT_OF_RANGE", /negative/],
        [allocated(first, { startingOffset: SIZE + 1n }), "OUT_OF_RANGE", /not within/],
        [delta(first, second, SIZE + 1n), "OUT_OF_RANGE", /not within/],
        [allocated(first, { maxResults: -1 }), "INVALID_ARGUMENT", /max_results is negative/],
        [delta(first, unrelated), "INVALID_ARGUMENT", /different volumes/],
        [delta(second, first), "INVALID_ARGUMENT", /the base is the later one/],
      ];
      for (const [call, code, message] of cases) {
        const failed = await failure(call);
        assert.equal(failed.code, code, String(message));
        assert.match(failed.message, message);
      }
    });

    test("what is requested while the snapshot goes away returns, and is not left open", async () => {
      const gone = await snapshotOf(world.client, volume, "gone");
      const asking = Promise.all(Array.from({ length: 5 }, () => failure(allocated(gone))));
      await world.client.controller.deleteSnapshot({ snapshotId: gone });
      for (const { code } of await asking) assert.match(code, /^(OK|NOT_FOUND|ABORTED)$/);
      assert.equal((await failure(allocated(gone))).code, "NOT_FOUND");
    });
  });
}

test("folders have no block map: FAILED_PRECONDITION, as the error table has it", async () => {
  const world = await startWorld({ pool: "directory" });
  try {
    const volume = await createVolume(world, "plain", { size: SIZE });
    const snapshotId = await snapshotOf(world.client, volume, "plain");
    const metadata = world.client.snapshotMetadata;
    const { code, message } = await failureOf(read(metadata.getMetadataAllocated({ snapshotId })));
    assert.equal(code, "FAILED_PRECONDITION");
    assert.match(message, /no block map/);
  } finally {
    await world.end();
  }
});
