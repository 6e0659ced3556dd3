import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const beside = (name: string) => readFile(new URL(name, import.meta.url), "utf8");
const named = (letter: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);

test("every property of an attachment is checked by the simulation, or says where it is or why not", async () => {
  const lists: Record<string, Record<string, string>> = JSON.parse(await beside("properties.json"));
  const all = [...named("S", 23), ...named("L", 8), ...named("D", 4)];
  const listed = Object.values(lists).flatMap((list) => Object.keys(list));
  assert.deepEqual([...listed].sort(), [...all].sort());
  const source =
    (await beside("safety.ts")) +
    (await beside("settle.ts")) +
    (await beside("history.ts")) +
    (await beside("jobs.ts")) +
    (await beside("migration.ts"));
  // S22 has no check of its own: it is that all the others are true in histories where everybody may die.
  for (const name of Object.keys(lists["checked"] ?? {})) {
    if (name !== "S22") assert.ok(source.includes(`"${name}"`), `${name} is nowhere checked`);
  }
});
