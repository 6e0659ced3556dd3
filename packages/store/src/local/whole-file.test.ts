import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { StoreOpenError } from "./open-error.ts";
import { WholeFile } from "./whole-file.ts";

const folder = await mkdtemp(join(tmpdir(), "mooring-whole-"));
const path = join(folder, "store", "store.mdb");
after(() => rm(folder, { recursive: true }));

async function opened(): Promise<WholeFile> {
  await rm(join(folder, "store"), { recursive: true, force: true });
  await mkdir(join(folder, "store"), { recursive: true });
  await writeFile(path, "x".repeat(8192));
  return new WholeFile(path);
}

test("a file may get longer, and nothing is read of one that has become shorter", async () => {
  const file = await opened();
  assert.equal(
    file.reading(() => 1),
    1,
  );
  await appendFile(path, "x".repeat(4096));
  file.requireLength();
  assert.equal(file.damage, undefined);
  await truncate(path, 8192);
  const lost = {
    name: "StoreOpenError",
    reason: "Damaged",
    message: /truncated to 8192 bytes .* had 12288$/,
  };
  assert.throws(() => file.reading(() => assert.fail("it was read")), lost);
  assert.match(file.damage ?? "", /truncated to 8192 bytes/);
  file.close();
});

test("what LMDB, a checksum or a copy finds is remembered with the way out; other errors are not", async () => {
  const fail = (error: Error) => () => {
    throw error;
  };
  const wayOut = new RegExp(`stop Mooring, .*mooring state restore --state-dir ${folder}\``);
  for (const [error, reason] of [
    [Object.assign(new Error("MDB_CORRUPTED: not a page"), { code: -30796 }), /LMDB reports: MDB_CORRUPTED/],
    [new StoreOpenError("Damaged", `${path} is damaged: pods a/b: wrong`), /is damaged: pods a\/b: wrong/],
  ] as const) {
    const file = await opened();
    assert.throws(() => file.reading(fail(new Error("the store is busy"))), /busy/);
    assert.equal(file.damage, undefined);
    assert.throws(() => file.reading(fail(error)));
    assert.match(file.damage ?? "", reason);
    assert.match(file.damage ?? "", wayOut);
    assert.match(file.damaged("pods/c/d is not as it was written").message, /pods\/c\/d/);
    assert.match(file.damage ?? "", reason);
    file.close();
  }
});
