import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { processorTime } from "@mooring/store/testing";
import { readLog } from "./log-read.ts";

test("ten thousands of lines that have no time yet are read without reading the times for each", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-log-"));
  t.after(() => rm(folder, { recursive: true }));
  const log = join(folder, "0.log");
  const lines = 50_000;
  await writeFile(log, "first\n".padEnd(lines + 5, "\n"));
  const stamps = Array.from({ length: 10_000 }, () => "6 2026-01-31T10:00:00.000Z\n");
  await writeFile(`${log}.times`, stamps.join(""));
  let text = "";
  const spent = processorTime();
  for await (const chunk of readLog(log, { timestamps: true }, () => true)) text += Buffer.from(chunk);
  assert.ok(text.startsWith("2026-01-31T10:00:00.000Z first\n"));
  assert.equal(text.match(/\n/g)?.length, lines);
  // Reading the times for each line takes minutes.
  assert.ok(spent() < 20_000);
});
