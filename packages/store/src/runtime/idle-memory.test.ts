import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { IdleMemory } from "./idle-memory.ts";

const MIB = 2 ** 20;

/** A process of which everything is as it is set; a collection takes `costMs` of processor time, and lasts `waits` longer, and leaves `live`. */
function simulated({ costMs = 50, waits = 0, live = 30 * MIB } = {}) {
  const state = { time: 0, spent: 0, busy: 0, heap: 60 * MIB, collections: 0 };
  const idle = new IdleMemory({
    now: () => state.time,
    utilization: () => state.busy,
    spent: () => state.spent,
    heapSize: () => state.heap,
    collect: async () => {
      state.spent += costMs;
      state.time += costMs + waits;
      state.heap = live;
      state.collections += 1;
    },
  });
  const tick = async (seconds = 5) => {
    state.time += seconds * 1000;
    await idle.tick();
    return state.collections;
  };
  return { state, tick };
}

test("garbage is collected once the process is idle, and again only when the heap has grown", async () => {
  const { state, tick } = simulated();
  state.busy = 0.9;
  assert.equal(await tick(), 0, "never while it is busy");
  state.busy = 0.01;
  assert.equal(await tick(), 1);
  assert.equal(await tick(60), 1, "there is none");
  state.heap += 3 * MIB;
  assert.equal(await tick(60), 1, "too little");
  state.heap += 2 * MIB;
  assert.equal(await tick(60), 2);
});

test("of a large heap a tenth counts, and collections take a hundredth of the time at most", async () => {
  const { state, tick } = simulated({ costMs: 500, live: 300 * MIB });
  state.heap = 400 * MIB;
  assert.equal(await tick(), 1);
  state.heap += 29 * MIB;
  assert.equal(await tick(60), 1);
  state.heap += 2 * MIB;
  assert.equal(await tick(60), 2);
  state.heap += 100 * MIB;
  assert.equal(await tick(40), 2, "50 s after one that took half a second");
  assert.equal(await tick(15), 3);
});

test("a collection that waits for a busy machine costs no more than its processor time", async () => {
  const { state, tick } = simulated({ costMs: 100, waits: 3_000 });
  assert.equal(await tick(), 1);
  state.heap += 20 * MIB;
  assert.equal(await tick(9), 1);
  assert.equal(await tick(2), 2, "10 s after one that took 100 ms, and not five minutes");
});

const PROGRAM = `
  import { collectWhenIdle } from "./idle-memory.ts";
  import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
  import { setTimeout as sleep } from "node:timers/promises";
  const size = () => getHeapStatistics().total_heap_size / 2 ** 20;
  const young = () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size / 2 ** 20;
  let kept = Array.from({ length: 1e6 }, (_, index) => ({ index }));
  const [before, youngBefore] = [size(), young()];
  kept = undefined;
  collectWhenIdle();
  const deadline = Date.now() + 60_000;
  const isLarge = () => size() > before / 2 || young() > youngBefore / 2;
  while (isLarge() && Date.now() < deadline) await sleep(50);
  console.log(!isLarge() ? "collected" : ["still", size(), young(), "of", before, youngBefore].join(" "));
  setInterval(() => {}, 1e6).unref();
`;

test("a process that has become idle gives its garbage back", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-idle-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const program = join(folder, "program.mjs");
  await build({
    stdin: { contents: PROGRAM, resolveDir: import.meta.dirname },
    ...{ bundle: true, platform: "node", format: "esm", outfile: program, logLevel: "warning" },
  });
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  assert.equal(stdout.trim(), "collected");
});
