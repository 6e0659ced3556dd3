import assert from "node:assert/strict";
import { readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { open } from "lmdb";
import { Shelves, shelf, testRegistry } from "../contract/kinds.ts";
import { tempFolder } from "../testing/temp-folder.ts";
import { checkStore } from "./check/check-store.ts";
import type { Evidence } from "./files.ts";
import { LocalStore } from "./local-store.ts";
import { StoreOpenError, type StoreOpenReason } from "./open-error.ts";

const start = (path: string, evidence?: Evidence) =>
  LocalStore.open({ path, registry: testRegistry(), ...(evidence && { evidence }) });

async function filled(path: string, names: readonly string[]): Promise<void> {
  const store = await start(path);
  for (const name of names) await store.create(Shelves, shelf(name, { offset: "untouched" }));
  await store.close();
}

function refusal(reason: StoreOpenReason, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof StoreOpenError && error.reason === reason, String(error));
    assert.match(error.message, message);
    return true;
  };
}

test("a store whose file has gone, or is empty, is never begun anew", async (t) => {
  const path = await tempFolder(t);
  await filled(path, ["a"]);
  const file = join(path, "store.mdb");
  const kept = await readFile(file);
  await truncate(file, 0);
  await assert.rejects(start(path), refusal("Missing", /store\.mdb is empty, and a store was here/));
  await rm(file);
  await assert.rejects(start(path), refusal("Missing", /store\.mdb is missing/));
  await writeFile(file, kept);
  const store = await start(path);
  assert.equal((await store.list(Shelves)).items.length, 1);
  await store.close();
});

test("a store is not begun where its user still has something of an earlier one", async (t) => {
  const path = await tempFolder(t);
  const evidence = async () => "a pool with 3 images";
  await assert.rejects(start(path, evidence), refusal("Missing", /a pool with 3 images is there/));
  await filled(path, ["a"]);
  await (await start(path, evidence)).close();
});

test("a start that was killed before the first store was whole begins it again", async (t) => {
  const path = await tempFolder(t);
  await writeFile(join(path, "store.mdb"), "");
  await filled(path, ["a"]);
});

test("one changed letter is found before it is served, and the object named", async (t) => {
  const path = await tempFolder(t);
  await filled(path, ["first", "second", "third"]);
  const file = join(path, "store.mdb");
  const bytes = await readFile(file);
  // In the object and in the history; the others stay as they are.
  for (let at = bytes.indexOf('"second"'); at >= 0; at = bytes.indexOf('"second"', at + 1)) {
    const offset = bytes.indexOf("untouched", at);
    bytes.write("g", offset + 8);
  }
  await writeFile(file, bytes);
  await assert.rejects(start(path), refusal("Damaged", /shelves second: its value is not what was written/));
});

test("a file that ends too early is reported, not mapped", async (t) => {
  const path = await tempFolder(t);
  await filled(path, ["a", "b"]);
  await truncate(join(path, "store.mdb"), 9000);
  await assert.rejects(start(path), refusal("Damaged", /the file ends before it, at 9000 bytes/));
});

test("a store of the first format is brought to this one in one transaction", async (t) => {
  const path = await tempFolder(t);
  const file = join(path, "store.mdb");
  const root = open<string, string>({ path: file, encoding: "string", maxDbs: 8, overlappingSync: false });
  const [objects, events] = [
    root.openDB({ name: "objects" }),
    root.openDB<string, number>({ name: "events" }),
  ];
  const meta = root.openDB<number, string>({ name: "meta", encoding: "json" });
  const json = (name: string, revision: number) =>
    JSON.stringify({
      ...{ apiVersion: "v1", kind: "Shelf" },
      metadata: { name, uid: name, resourceVersion: String(revision) },
    });
  await root.batch(() => {
    for (let revision = 2; revision < 500; revision++) {
      const [name, path] = [`s${revision}`, `shelves//s${revision}`];
      void objects.put(path, json(name, revision));
      void events.put(revision, ["ADDED", path, json(name, revision), ""].join("\n"));
    }
    void meta.put("format", 1);
    void meta.put("revision", 499);
  });
  await root.close();
  assert.deepEqual([(await checkStore(file)).format, (await checkStore(file)).damage], [1, []]);
  for (let round = 0; round < 2; round++) {
    const store = await start(path);
    assert.equal(store.resourceVersion, "499");
    assert.equal((await store.list(Shelves)).items.length, 498);
    const watch = store.watch(Shelves, { resourceVersion: "498", signal: AbortSignal.timeout(60_000) });
    assert.equal((await watch.next()).value?.object.metadata.name, "s499");
    await store.close();
    const { format, objects: count, damage } = await checkStore(file);
    assert.deepEqual({ format, count, damage }, { format: 2, count: 498, damage: [] });
  }
});

test("a store of the first format with an object that cannot be read is left alone", async (t) => {
  const path = await tempFolder(t);
  const root = open<string, string>({ path: join(path, "store.mdb"), encoding: "string", maxDbs: 8 });
  const objects = root.openDB({ name: "objects" });
  const meta = root.openDB<number, string>({ name: "meta", encoding: "json" });
  await objects.put("pods/default/web", '{"kind":"Pod');
  await meta.put("format", 1);
  await meta.put("revision", 2);
  root.openDB({ name: "events" });
  await root.close();
  await assert.rejects(start(path), refusal("Damaged", /pods default\/web: /));
});
