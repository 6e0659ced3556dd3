import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { TurnMeter } from "../apiserver/testing/turn-meter.ts";
import { listenersOn } from "./listening.ts";

const line = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0000000000000000 100 0 0 10 0\n`;

test("a table of very many sockets is searched without standing still", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "listening-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const table = join(folder, "tcp");
  // What 600 programs with a thousand descriptors each bring about.
  const others = line("0100007F:1F91", "01", 1).repeat(600_000);
  const own =
    line("0100007F:1F90", "0A", 7) + line("0100007F:1F90", "01", 8) + line("0100007F:01F9", "0A", 9);
  await writeFile(table, others + own + others);
  const meter = new TurnMeter();
  meter.begin();
  assert.deepEqual(await listenersOn(0x1f90, [table, join(folder, "none")]), new Map([["7", "0100007F"]]));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const { worst } = meter.report();
  assert.ok(worst < 50, `a turn of ${worst.toFixed(0)} ms`);
});
