import assert from "node:assert/strict";
import { test } from "node:test";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { type Extent, parseExtent } from "./extents.ts";
import { allocatedRanges, changedRanges, type Range } from "./ranges.ts";

const BLOCKS = 40;

/** What a block of a file is, block by block: the oracle. Undefined: data in an unknown place. */
type Block = Extent["place"];

const block: fc.Arbitrary<Block> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Block>("zeros") },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3 * BLOCKS }) },
  { weight: 1, arbitrary: fc.constant<Block>(undefined) },
);
const file = fc.array(block, { minLength: BLOCKS, maxLength: BLOCKS });

/** The file as extents; blocks in a row in one extent or in several, zeros as holes or as unwritten blocks. */
function extentsOf(blocks: readonly Block[], split: readonly boolean[]): Extent[] {
  const extents: Extent[] = [];
  for (const [offset, place] of blocks.entries()) {
    const last = extents.at(-1);
    const next = last !== undefined && last.offset + last.length === offset && typeof last.place === "number";
    if (place === "zeros" && split[offset] === true) continue;
    if (next && split[offset] !== true && place === (last.place as number) + last.length) last.length += 1;
    else extents.push({ offset, length: 1, place });
  }
  return extents;
}

const splits = fc.array(fc.boolean(), { minLength: BLOCKS, maxLength: BLOCKS });

async function collect(ranges: AsyncIterable<Range>): Promise<Range[]> {
  const all: Range[] = [];
  for await (const range of ranges) all.push(range);
  return all;
}

function covered(ranges: readonly Range[]): boolean[] {
  const marks = Array.from({ length: BLOCKS }, () => false);
  for (const { offset, length } of ranges) marks.fill(true, offset, offset + length);
  return marks;
}

/** Ascending, never empty, and never touching: else they would be one. */
function wellFormed(ranges: readonly Range[]): void {
  for (const [index, { offset, length }] of ranges.entries()) {
    assert.ok(length > 0);
    const before = ranges[index - 1];
    assert.ok(before === undefined || before.offset + before.length < offset);
  }
}

test("allocated ranges are the blocks that are not zeros, in any window", () =>
  fc.assert(
    fc.asyncProperty(file, splits, fc.nat(BLOCKS), async (blocks, split, from) => {
      const ranges = await collect(allocatedRanges(extentsOf(blocks, split), { from, to: BLOCKS }));
      wellFormed(ranges);
      assert.deepEqual(
        covered(ranges),
        blocks.map((place, offset) => offset >= from && place !== "zeros"),
      );
    }),
    { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
  ));

test("changed ranges are the blocks that are not known to be the same, in any window", () =>
  fc.assert(
    fc.asyncProperty(
      file,
      file,
      splits,
      splits,
      fc.nat(BLOCKS),
      fc.nat(BLOCKS),
      async (...[a, b, x, y, from, keep]) => {
        // Snapshots of one volume are mostly alike.
        const target = b.map((place, offset) => (offset % BLOCKS < keep ? (a[offset] ?? place) : place));
        const changed = changedRanges(extentsOf(a, x), extentsOf(target, y), { from, to: BLOCKS });
        const ranges = await collect(changed);
        wellFormed(ranges);
        const expected = target.map((place, offset) => {
          const before = a[offset];
          return offset >= from && (place === undefined || before === undefined || place !== before);
        });
        assert.deepEqual(covered(ranges), expected);
      },
    ),
    { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
  ));

test("extents are read as they are needed, and closed when nobody wants more", async () => {
  let made = 0;
  let closed = 0;
  async function* endless(): AsyncIterable<Extent> {
    try {
      for (;;) {
        made += 1;
        yield { offset: made * 10, length: 5, place: made * 10 };
      }
    } finally {
      closed += 1;
    }
  }
  let taken = 0;
  for await (const { offset } of changedRanges(endless(), [], { from: 0, to: Number.MAX_SAFE_INTEGER })) {
    taken += 1;
    assert.equal(offset, taken * 10);
    assert.ok(made <= taken + 2, "no more than one ahead");
    if (taken === 100_000) break;
  }
  assert.equal(closed, 1);
});

test("a line of filefrag is an extent, whatever its flags", () => {
  const line = (place: string, flags: string) =>
    parseExtent(`   1:    24576..   28671:    ${place}..   1175551:   4096:      45056: ${flags}`);
  const extent = { offset: 24576, length: 4096, place: 1171456 };
  assert.deepEqual(line("1171456", ""), extent);
  assert.deepEqual(line("1171456", "last,shared,eof"), extent);
  assert.deepEqual(parseExtent("  0:  24576.. 28671:  1171456.. 1175551:  4096:   last,shared"), extent);
  assert.deepEqual(line("1171456", "last,unwritten,shared"), { ...extent, place: "zeros" });
  for (const flags of ["delalloc,unknown_loc", "encoded", "inline,eof", "0x1000", "not_aligned"]) {
    assert.deepEqual(line("0", flags), { ...extent, place: undefined }, flags);
  }
  for (const other of [
    "Filesystem type is: 58465342",
    "File size of a is 104857600 (104857600 blocks of 1 bytes)",
    " ext:     logical_offset:        physical_offset: length:   expected: flags:",
    "a: 2 extents found",
  ]) {
    assert.equal(parseExtent(other), undefined, other);
  }
});
