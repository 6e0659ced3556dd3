import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ObjectDatabase } from "./database.ts";
import type { StoreEvent } from "./event.ts";

test("a scan reads few large objects in one turn, and goes on behind them", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-database-"));
  const database = await ObjectDatabase.open({ folder });
  t.after(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });
  const json = "x".repeat(100_000);
  const paths = Array.from({ length: 7 }, (_, at) => `maps/${at}`);
  const events = paths.map(
    (path, at): StoreEvent => ({
      ...{ revision: at + 2, type: "ADDED", collection: "maps", path, json },
      previous: undefined,
    }),
  );
  await database.commit(events, ({ path }) => path, []);
  const read: string[][] = [];
  for (let from: string | undefined = "maps/"; from !== undefined; ) {
    const { rows, next } = database.scan(from, "maps0");
    read.push(rows.map(({ path }) => path));
    from = next;
  }
  assert.deepEqual(read.flat(), paths);
  assert.ok(
    read.every(({ length }) => length <= 3),
    JSON.stringify(read),
  );
  const two = database.scan("maps/", "maps0", 2);
  assert.deepEqual(
    two.rows.map(({ path }) => path),
    paths.slice(0, 2),
  );
});
