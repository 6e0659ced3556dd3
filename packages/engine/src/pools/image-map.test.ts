import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { apiVersionOf } from "@mooring/store";
import { howMany, sample } from "@mooring/store/testing";
import fc from "fast-check";
import { type Pool, Pools } from "../api/pool.ts";
import { EngineError } from "../errors.ts";
import { createHost } from "../host/create-host.ts";
import { allocatedRanges, changedRanges, type Range } from "../host/filesystem/ranges.ts";
import { GIB, MIB, scratch } from "../testing/scratch.ts";
import type { PoolBackend } from "./backend.ts";
import { createPool } from "./create-pool.ts";
import type { Image } from "./image.ts";
import { imageMap } from "./image-map.ts";

const host = createHost();
const SIZE = 8 * MIB;

/** Something that happens to an image: bytes, or zeros that give their blocks back, or blocks reserved and not written. */
interface Change {
  what: "write" | "punch" | "reserve";
  offset: number;
  length: number;
}

const change: fc.Arbitrary<Change> = fc
  .record({
    what: fc.constantFrom("write", "write", "write", "punch", "reserve"),
    offset: fc.nat(SIZE - 1),
    length: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: MIB })),
  })
  .map(({ what, offset, length }) => ({ what, offset, length: Math.min(length, SIZE - offset) }));

async function make(image: Image, { what, offset, length }: Change, seed: number): Promise<void> {
  if (what !== "write") {
    const mode = what === "punch" ? ["--punch-hole"] : ["--keep-size"];
    const window = ["--offset", String(offset), "--length", String(length)];
    await host.exec.run("fallocate", [...mode, ...window, image.path]);
    return;
  }
  const handle = await open(image.path, "r+");
  await handle.write(Buffer.alloc(length, 1 + (seed % 255)), 0, length, offset);
  await handle.close();
}

async function bytesOf(image: Image): Promise<Buffer> {
  const handle = await open(image.path, "r");
  try {
    return (await handle.read(Buffer.alloc(image.size), 0, image.size, 0)).buffer;
  } finally {
    await handle.close();
  }
}

function covered(ranges: readonly Range[]): Uint8Array {
  const marks = new Uint8Array(SIZE);
  for (const { offset, length } of ranges) marks.fill(1, offset, offset + length);
  return marks;
}

async function collect(ranges: AsyncIterable<Range>): Promise<Range[]> {
  const all: Range[] = [];
  for await (const range of ranges) all.push(range);
  return all;
}

async function opened(
  t: TestContext,
  type: Pool["spec"]["type"],
): Promise<{ backend: PoolBackend; pool: Pool }> {
  const path = join(await scratch(t, host), "pool");
  const backend = createPool(type, { host, path, size: 2 * GIB });
  t.after(() => backend.close().catch(() => {}));
  await backend.open();
  const spec = { type, nodeID: "n", path };
  return { backend, pool: { apiVersion: apiVersionOf(Pools), kind: "Pool", metadata: { name: "p" }, spec } };
}

/** Only Ceph pools ask it. */
const reader = { host, stateDir: "/none" };
const window = { from: 0, to: SIZE };

for (const type of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`${type}: no byte that is not zero is outside of the allocated ranges, no changed byte outside of the changed ones`, async (t) => {
    const { backend, pool } = await opened(t, type);
    let round = 0;
    const property = fc.asyncProperty(
      fc.array(change, { maxLength: 12 }),
      fc.array(change, { maxLength: 12 }),
      async (before, after) => {
        round += 1;
        const volume = await backend.create(`v-${round}`, SIZE);
        for (const [index, one] of before.entries()) await make(volume, one, index);
        const base = await backend.clone(volume.id, `s-${round}-a`, SIZE);
        for (const [index, one] of after.entries()) await make(volume, one, 100 + index);
        const target = await backend.clone(volume.id, `s-${round}-b`, SIZE);
        const [baseMap, targetMap] = [
          await imageMap(pool, base.id, reader),
          await imageMap(pool, target.id, reader),
        ];
        const [old, now] = [await bytesOf(base), await bytesOf(target)];
        const allocated = covered(await collect(allocatedRanges(targetMap.extents(), window)));
        const changed = covered(await collect(changedRanges(baseMap.extents(), targetMap.extents(), window)));
        for (let at = 0; at < SIZE; at += 1) {
          if (now[at] !== 0 && allocated[at] !== 1) assert.fail(`byte ${at} is ${now[at]} and not allocated`);
          if (now[at] !== old[at] && changed[at] !== 1)
            assert.fail(`byte ${at} has changed and is not listed`);
        }
        // Not more than was touched, up to whole blocks of the pool and its unit of sharing.
        const touched = covered(after.map(({ offset, length }) => around(offset, length)));
        assert.ok(
          changed.every((mark, at) => mark <= (touched[at] ?? 0)),
          "what nobody touched is listed",
        );
        for (const { id } of [volume, base, target]) await backend.remove(id);
      },
    );
    await fc.assert(property, { numRuns: howMany({ everyday: 3, full: 8, deep: 100 }) });
  });
}

const BLOCK = 4096;
function around(offset: number, length: number): Range {
  const from = Math.floor(offset / BLOCK) * BLOCK;
  const to = Math.min(SIZE, Math.ceil((offset + length) / BLOCK) * BLOCK);
  return { offset: from, length: to - from };
}

test("an image in thousands of pieces is read piece by piece, and reading can stop anywhere", async (t) => {
  const { backend, pool } = await opened(t, "xfs");
  const PIECES = 5000;
  const image = await backend.create("v-pieces", GIB);
  const handle = await open(image.path, "r+");
  for (let piece = 0; piece < PIECES; piece += 1) await handle.write("x", piece * 3 * BLOCK);
  await handle.close();
  const map = await imageMap(pool, image.id, reader);
  assert.equal(map.size, GIB);
  const ranges = await collect(allocatedRanges(map.extents(), { from: 0, to: GIB }));
  assert.deepEqual(
    ranges,
    Array.from({ length: PIECES }, (_, piece) => ({ offset: piece * 3 * BLOCK, length: BLOCK })),
  );
  for await (const { offset } of allocatedRanges(map.extents(), { from: 30 * BLOCK + 1, to: GIB })) {
    assert.equal(offset, 30 * BLOCK + 1, "the rest of the block that the window begins in");
    break;
  }
  const stop = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of map.extents(stop.signal)) stop.abort(new Error("enough"));
  }, /enough/);
});

test("a map reports which image or pool it cannot be made of", async (t) => {
  const { pool } = await opened(t, "directory");
  const code = (error: unknown) => (error instanceof EngineError ? error.code : String(error));
  const failure = (of: Pool, id: string) => imageMap(of, id, reader).then(() => "none", code);
  assert.equal(await failure(pool, "s-1"), "FAILED_PRECONDITION");
  const blocks: Pool = { ...pool, spec: { ...pool.spec, type: "xfs" } };
  assert.equal(await failure(blocks, "s-1"), "NOT_FOUND");
  assert.equal(await failure(blocks, "../s-1"), "INVALID_ARGUMENT");
});
