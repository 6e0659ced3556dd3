import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Shelves, shelf, testRegistry } from "../../contract/kinds.ts";
import { isStatus } from "../../object/status-error.ts";
import { eventually } from "../../runtime/eventually.ts";
import { silentLogger } from "../../runtime/logger.ts";
import { tempFolder } from "../../testing/temp-folder.ts";
import { checkStore } from "../check/check-store.ts";
import { storeFile } from "../files.ts";
import { LocalStore } from "../local-store.ts";
import { StoreOpenError } from "../open-error.ts";
import { copyFolder } from "./copy-of-running.ts";
import { restoreStore } from "./restore.ts";
import { startStateCopies } from "./rotate.ts";
import { copiesFolder, copyName, dropOldCopies, listCopies } from "./state-copies.ts";

const WRITER = fileURLToPath(new URL("../../testing/crash-writer.ts", import.meta.url));

const start = (path: string) => LocalStore.open({ path, registry: testRegistry() });

async function names(store: LocalStore): Promise<string[]> {
  return (await store.list(Shelves)).items.map(({ metadata }) => metadata.name);
}

/** Opens a copy as a store of its own. */
async function opened(folder: string, copy: string): Promise<LocalStore> {
  const path = join(folder, `opened-${Math.random()}`);
  await mkdir(path);
  await writeFile(storeFile(path), await readFile(copy));
  return start(path);
}

/** Resolves when the process at the other end has written more. */
async function nextWrite(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  await eventually("the next write", async () => (await file.stat()).size > size);
}

test("a copy that is made while others write is one moment of the store", async (t) => {
  const folder = await tempFolder(t);
  const store = await start(join(folder, "store"));
  const stop = new AbortController();
  t.after(() => stop.abort());
  let written = 0;
  const writing = (async () => {
    while (!stop.signal.aborted) {
      const batch = Array.from({ length: 20 }, (_, index) => `s${written + index}`);
      await Promise.all(
        batch.map((name) => store.create(Shelves, shelf(name, { filler: "x".repeat(3000) }))),
      );
      await Promise.all(batch.slice(0, 10).map((name) => store.delete(Shelves, { name })));
      written += 20;
    }
  })();
  for (let round = 0; round < 5; round++) {
    const before = Number(store.resourceVersion);
    const copy = join(folder, `copy-${round}.mdb`);
    const { revision, damage } = await store.copyTo(copy);
    assert.deepEqual(damage, []);
    assert.ok(revision >= before, `the copy has ${revision}, readers had seen ${before}`);
    // What is on disk is copied: readers see the newest of it a moment later.
    await eventually("readers to see what the copy has", () => Number(store.resourceVersion) >= revision);
    const again = await opened(folder, copy);
    assert.equal(again.resourceVersion, String(revision));
    await again.close();
  }
  stop.abort();
  await writing;
  await store.close();
});

test("another process' store is copied while it writes, and never found damaged", async (t) => {
  const folder = await tempFolder(t);
  const path = join(folder, "store");
  // To a file: nobody reads a pipe while this process checks a copy.
  const written = await open(join(folder, "written"), "w");
  const args = ["--conditions=mooring-source", "--import", "tsx", WRITER, path, "0"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", written.fd, "inherit"] });
  t.after(async () => {
    child.kill("SIGKILL");
    await written.close();
  });
  await eventually("the first write", async () => (await written.stat()).size > 0);
  let before = 0;
  for (let round = 0; round < 25; round++) {
    const { revision, damage } = await copyFolder(path, join(folder, "copy.mdb"));
    assert.deepEqual(damage, []);
    assert.ok(revision > before, "it writes on");
    before = revision;
    await nextWrite(written);
  }
  assert.equal(child.exitCode, null);
  child.kill("SIGKILL");
  await once(child, "close");
  await (await start(path)).close();
});

test("a restored store has what the copy had, and revisions that nobody has seen", async (t) => {
  const folder = await tempFolder(t);
  const path = join(folder, "store");
  let store = await start(path);
  await store.create(Shelves, shelf("kept"));
  const copy = join(folder, "copy.mdb");
  await store.copyTo(copy);
  await store.create(Shelves, shelf("lost"));
  const seen = store.resourceVersion;
  await assert.rejects(restoreStore(path, copy), (error) => {
    return error instanceof StoreOpenError && error.reason === "Locked";
  });
  await store.close();
  await writeFile(storeFile(path), "nonsense");
  const { kept, objects } = await restoreStore(path, copy);
  assert.equal(objects, 1);
  assert.equal(await readFile(kept ?? "", "utf8"), "nonsense");
  store = await start(path);
  t.after(() => store.close());
  assert.deepEqual(await names(store), ["kept"]);
  assert.ok(Number(store.resourceVersion) > Number(seen));
  const watch = store.watch(Shelves, { resourceVersion: seen, signal: AbortSignal.timeout(60_000) });
  await assert.rejects(watch.next(), (error) => isStatus(error, "Expired"));
  await store.create(Shelves, shelf("after"));
  assert.deepEqual((await checkStore(storeFile(path))).damage, []);
  assert.deepEqual(
    (await readdir(path)).filter((name) => name.startsWith("restoring-")),
    [],
  );
});

test("a damaged copy is not restored, and a damaged store not copied", async (t) => {
  const folder = await tempFolder(t);
  const path = join(folder, "store");
  const store = await start(path);
  await store.create(Shelves, shelf("first", { word: "untouched" }));
  const copy = join(folder, "copy.mdb");
  await store.copyTo(copy);
  await store.close();
  const bytes = await readFile(copy);
  bytes.write("g", bytes.lastIndexOf("untouched") + 8);
  const damagedCopy = join(folder, "damaged.mdb");
  await writeFile(damagedCopy, bytes);
  const before = await readFile(storeFile(path));
  await assert.rejects(restoreStore(path, damagedCopy), /damaged\.mdb is damaged: /);
  assert.deepEqual(await readFile(storeFile(path)), before);
  await writeFile(storeFile(path), bytes);
  await assert.rejects(copyFolder(path, join(folder, "other.mdb")), /store\.mdb is damaged: /);
  assert.deepEqual((await readdir(folder)).sort(), ["copy.mdb", "damaged.mdb", "store"]);
});

test("copies are made by themselves when something has changed, and the oldest go", async (t) => {
  const stateDir = await tempFolder(t);
  const store = await start(join(stateDir, "store"));
  const stop = new AbortController();
  const { done } = startStateCopies({
    store,
    stateDir,
    everyMs: 20,
    logger: silentLogger,
    signal: stop.signal,
  });
  t.after(() => stop.abort());
  const revisions = new Set<number>();
  const deadline = performance.now() + 60_000;
  for (let round = 0; revisions.size <= 8; round++) {
    assert.ok(performance.now() < deadline, `${revisions.size} copies within a minute`);
    await store.create(Shelves, shelf(`s${round}`));
    for (const { revision } of await listCopies(stateDir)) revisions.add(revision);
  }
  stop.abort();
  await done;
  const copies = await listCopies(stateDir);
  assert.ok(copies.length > 0 && copies.length <= 6, `${copies.length} copies`);
  for (const { path } of copies) assert.deepEqual((await checkStore(path)).damage, []);
  await store.close();
});

test("many starts in an hour leave the copies of the hours before", async (t) => {
  const folder = await tempFolder(t);
  await mkdir(copiesFolder(folder));
  const at = (time: string) => copyName(new Date(`2026-11-30T${time}Z`), 7);
  const hours = ["05:00:00", "06:00:00", "07:00:00", "08:00:00"].map(at);
  const starts = ["08:59:00", "09:00:10", "09:00:20", "09:00:30", "09:00:40"].map(at);
  for (const name of [...hours, ...starts]) await writeFile(join(copiesFolder(folder), name), "");
  await dropOldCopies(folder);
  assert.deepEqual(
    (await readdir(copiesFolder(folder))).sort(),
    ["06:00:00", "07:00:00", "08:59:00", "09:00:20", "09:00:30", "09:00:40"].map(at),
  );
});

test("what killed copies have left goes, and not what another process is copying at this moment", async (t) => {
  const folder = await tempFolder(t);
  await mkdir(copiesFolder(folder));
  const child = spawn("true");
  await once(child, "exit");
  const temporary = (pid: number | undefined) => `${copyName(new Date(), 7)}.new-${pid}`;
  for (const pid of [child.pid, process.ppid])
    await writeFile(join(copiesFolder(folder), temporary(pid)), "");
  await dropOldCopies(folder);
  const left = (await readdir(copiesFolder(folder))).map((name) => name.replace(/.*-/, ""));
  assert.deepEqual(left, [String(process.ppid)]);
});
