import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Shelves, shelf, testRegistry } from "../contract/kinds.ts";
import { tempFolder } from "../testing/temp-folder.ts";
import { restoreStore } from "./copies/restore.ts";
import { storeFile } from "./files.ts";
import { LocalStore } from "./local-store.ts";
import { readReached } from "./newest-revision.ts";
import { StoreOpenError } from "./open-error.ts";

/** A store that is closed, a copy of it from before its last object, and what knows how far it has come. */
async function withOlderCopy(t: TestContext) {
  const folder = await tempFolder(t);
  const path = join(folder, "store");
  const newest = join(folder, "elsewhere", "newest");
  await mkdir(join(folder, "elsewhere", "pool"), { recursive: true });
  const start = () => LocalStore.open({ path, registry: testRegistry(), newest });
  const older = join(folder, "older.mdb");
  const store = await start();
  await store.create(Shelves, shelf("a"));
  await store.copyTo(older);
  await store.create(Shelves, shelf("b"));
  await store.close();
  return { folder, path, newest, older, start };
}

const refused = (error: unknown) =>
  error instanceof StoreOpenError &&
  error.reason === "Older" &&
  /is of revision 2, .* come to 3 /.test(error.message);

test("a store in whose place an older one of it has come is refused, until a restore takes it", async (t) => {
  const { path, newest, older, start } = await withOlderCopy(t);
  assert.equal((await readReached(newest))?.revision, 3);
  await copyFile(older, storeFile(path));
  await assert.rejects(start(), refused);
  await restoreStore(path, storeFile(path));
  const restored = await start();
  assert.deepEqual(
    (await restored.list(Shelves)).items.map(({ metadata }) => metadata.name),
    ["a"],
  );
  await restored.close();
  await copyFile(older, storeFile(path));
  await assert.rejects(start(), { reason: "Older" });
});

test("a store that is begun anew is of no older one", async (t) => {
  const { path, start } = await withOlderCopy(t);
  await rm(path, { recursive: true });
  await (await start()).close();
  await (await start()).close();
});

test("what is not known of how far a store has come refuses nothing, and nothing is made where nothing is", async (t) => {
  const { folder, path, newest, older, start } = await withOlderCopy(t);
  await copyFile(older, storeFile(path));
  const kept = await readFile(newest, "utf8");
  await writeFile(newest, kept.replace(" 3 ", " 4 ").replace(/^./, "x"));
  await (await start()).close();
  assert.equal((await readReached(newest))?.revision, 2);
  await rm(join(folder, "elsewhere"), { recursive: true });
  const store = await start();
  await store.create(Shelves, shelf("c"));
  assert.equal(existsSync(join(folder, "elsewhere")), false);
  await mkdir(join(folder, "elsewhere"));
  await store.create(Shelves, shelf("d"));
  await store.close();
  assert.deepEqual(await readdir(join(folder, "elsewhere")), []);
});
