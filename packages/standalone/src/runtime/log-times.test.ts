import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { threadMs } from "../apiserver/testing/thread-cost.ts";
import { readLog } from "./log-read.ts";
import { withTimes } from "./log-times.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-log-times-"));
});
after(() => rm(folder, { recursive: true }));

const BEGIN = Date.parse("2026-01-01T00:00:00.000Z");
const time = (seconds: number) => new Date(BEGIN + seconds * 1000).toISOString();

/** A log, of which so many bytes each were written in one second. */
async function log(name: string, text: string, stamped: readonly number[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  let end = 0;
  const lines = stamped.map((bytes, second) => {
    end += bytes;
    return `${end} ${time(second)}\n`;
  });
  await writeFile(`${file}.times`, lines.join(""));
  return file;
}

const read = (file: string) => readLog(file, { timestamps: true }, () => true);

test("each line has the time at which its end was written, also one that is longer than what is read at once", async () => {
  const long = "x".repeat(200_000);
  const file = await log("lines", `one\ntwo\n${long}\nlast`, [4, 4, 200_001, 4]);
  const parts: Uint8Array[] = [];
  for await (const part of read(file)) parts.push(part);
  const [first, second, third = "", ...more] = Buffer.concat(parts).toString().split("\n");
  assert.deepEqual([first, second, more], [`${time(0)} one`, `${time(1)} two`, [`${time(3)} last`]]);
  assert.equal(third, `${time(2)} ${long}`);
});

for (const [what, stamped] of [
  ["with a time for each hundred of them", Array.from({ length: 5_000 }, () => 100)],
  ["of times that are not noted yet", []],
] as const)
  test(`a log of nothing but ends of lines, ${what}, holds the thread no longer than another`, async () => {
    const file = await log(`ends-${stamped.length}`, "\n".repeat(500_000), stamped);
    let [before, lines] = [threadMs(), 0];
    const pieces: number[] = [];
    for await (const part of read(file)) {
      pieces.push(threadMs() - before);
      assert.equal(part.length % 26, 0);
      lines += part.length / 26;
      before = threadMs();
    }
    assert.equal(lines, 500_000);
    // The first one compiles the code as well, and any may have a collection in it.
    const usual = pieces.sort((a, b) => a - b)[Math.floor(pieces.length / 2)] ?? Number.NaN;
    assert.ok(usual < 50, `half of the pieces take ${usual.toFixed(0)} ms of the thread, or more`);
  });

test("who follows a log that has been written to for hours pays for what is new in it", async () => {
  const [few, many] = [await usualPiece(16), await usualPiece(16_384)];
  assert.ok(
    many < 5 * few + 1,
    `${many.toFixed(1)} ms of the thread for a piece, ${few.toFixed(1)} ms after a start`,
  );
});

/** Milliseconds of the thread for a piece that is newer than all stamps, in half of the cases. */
async function usualPiece(count: number): Promise<number> {
  const stamped = Array.from({ length: count }, () => 1);
  const file = await log(`followed-${count}`, "\n".repeat(count), stamped);
  async function* raw() {
    for (let piece = 0; piece < 60; piece += 1) yield Buffer.from("\n");
  }
  const pieces: number[] = [];
  let before = threadMs();
  for await (const part of withTimes(raw(), file, count)) {
    assert.equal(part.length, 26);
    pieces.push(threadMs() - before);
    before = threadMs();
  }
  return pieces.sort((a, b) => a - b)[30] ?? Number.NaN;
}
