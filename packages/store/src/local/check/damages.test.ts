import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Shelves, shelf, testRegistry } from "../../contract/kinds.ts";
import { howMany } from "../../testing/sample.ts";
import { tempFolder } from "../../testing/temp-folder.ts";
import { LocalStore } from "../local-store.ts";
import { StoreOpenError } from "../open-error.ts";
import { checkStore } from "./check-store.ts";
import { type PlannedDamage, plannedDamages, WAYS } from "./testing/apply-damage.ts";
import { pagesOf } from "./testing/pages-of.ts";

const OPTIONS = { registry: testRegistry(), history: { events: 150 } };

function open(path: string): Promise<LocalStore> {
  return LocalStore.open({ ...OPTIONS, path });
}

async function contents(store: LocalStore): Promise<string> {
  return JSON.stringify((await store.list(Shelves)).items);
}

/** A store in which every kind of page is, twice: as it is, and as it was some time before. */
async function build(folder: string): Promise<{ file: Buffer; older: Buffer; expected: string }> {
  const path = join(folder, "base");
  const file = join(path, "store.mdb");
  let store = await open(path);
  const fill = (index: number, round: number) =>
    shelf(`s${index}`, { text: `round ${round} `.repeat(index % 19 === 0 ? 500 : 20) });
  for (let start = 0; start < 300; start += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => store.create(Shelves, fill(start + i, 0))));
  await store.close();
  const older = await readFile(file);
  store = await open(path);
  for (let index = 0; index < 300; index += 3) {
    if (index % 2 === 0) await store.update(Shelves, fill(index, 1));
    else await store.delete(Shelves, { name: `s${index}` });
  }
  const expected = await contents(store);
  await store.close();
  return { file: await readFile(file), older, expected };
}

/** `detected`, or `harmless`: everything is there, and goes on being there while the store is written to. */
async function outcome(path: string, expected: string): Promise<string> {
  let store: LocalStore;
  try {
    store = await open(path);
  } catch (error) {
    assert.ok(error instanceof StoreOpenError, String(error));
    assert.ok(["Damaged", "Missing"].includes(error.reason), error.message);
    return "detected";
  }
  if ((await contents(store)) !== expected) return "silent";
  for (let start = 0; start < 100; start += 25)
    await Promise.all(Array.from({ length: 25 }, (_, i) => store.create(Shelves, shelf(`t${start + i}`))));
  await Promise.all(Array.from({ length: 100 }, (_, i) => store.delete(Shelves, { name: `t${i}` })));
  await store.close();
  assert.deepEqual((await checkStore(join(path, "store.mdb"))).damage, []);
  store = await open(path);
  const after = await contents(store);
  await store.close();
  return after === expected ? "harmless" : "silent";
}

test("every damage of the table is found before anything is served, or harms nothing", async (t) => {
  const folder = await tempFolder(t);
  const { file, older, expected } = await build(folder);
  const pages = pagesOf(file);
  const all = plannedDamages();
  assert.ok(all.length >= 200);
  const every = howMany({ everyday: 32, full: 8, deep: 1 });
  const some = all.filter((_, index) => index % every === 0);
  const outcomes = new Map<string, PlannedDamage[]>();
  for (const damage of some) {
    const path = join(folder, `line-${damage.line}`);
    await mkdir(path);
    await writeFile(join(path, "made"), "");
    const candidates = damage.part === "file" ? [0] : (pages.get(damage.part) ?? []);
    const page = candidates[Math.floor(damage.which * candidates.length)];
    assert.ok(page !== undefined, `the store has no page for line ${damage.line} (${damage.part})`);
    const way = WAYS[damage.how];
    assert.ok(way, `line ${damage.line}: there is no way to do "${damage.how}"`);
    const damaged = way({ file: Buffer.from(file), older, page, at: damage.at });
    if (damaged !== undefined) await writeFile(join(path, "store.mdb"), damaged);
    const result = await outcome(path, expected);
    outcomes.set(result, [...(outcomes.get(result) ?? []), damage]);
    await rm(path, { recursive: true });
  }
  assert.deepEqual(outcomes.get("silent") ?? [], []);
  const [detected, harmless] = ["detected", "harmless"].map((result) => outcomes.get(result)?.length ?? 0);
  t.diagnostic(`${detected} detected, ${harmless} harmless`);
  assert.ok((detected ?? 0) > some.length / 2, "a table that does no harm proves nothing");
});

test("a whole store is never called damaged, whatever was done to it", async (t) => {
  const path = await tempFolder(t);
  const store = await open(path);
  const live = new Set<number>();
  // The same numbers in every run.
  let state = 7;
  const upTo = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
  for (let round = 0; round < 40; round++) {
    const works = new Map<number, Promise<unknown>>();
    for (let index = 0; index < 60; index++) {
      const number = upTo(500);
      if (works.has(number)) continue;
      const object = shelf(`s${number}`, { text: "x".repeat(upTo(5) === 0 ? upTo(30_000) : upTo(1_500)) });
      const remove = live.has(number) && upTo(2) === 0;
      if (remove) works.set(number, store.delete(Shelves, { name: `s${number}` }));
      else
        works.set(number, live.has(number) ? store.update(Shelves, object) : store.create(Shelves, object));
      if (remove) live.delete(number);
      else live.add(number);
    }
    await Promise.all(works.values());
    const { damage, objects } = await checkStore(join(path, "store.mdb"));
    assert.deepEqual({ damage, objects }, { damage: [], objects: live.size });
  }
  await store.close();
});
