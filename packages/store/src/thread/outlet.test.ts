import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonWatchEvent } from "../local/watch.ts";
import { Outlet } from "./outlet.ts";

const EVENTS = 1_000;

/** Reads what is ready, a turn after the one before, and says how many events each message has. */
async function messages(characters: number): Promise<{ sizes: number[]; readAhead: number }> {
  let read = 0;
  async function* source(): AsyncGenerator<JsonWatchEvent, void> {
    for (; read < EVENTS; read += 1) yield { type: "ADDED", json: "x".repeat(characters) };
  }
  const outlet = new Outlet(source(), EVENTS);
  await nextTurn();
  const readAhead = read;
  const sizes: number[] = [];
  for (;;) {
    const { items, end } = await outlet.next();
    if (items.length > 0) sizes.push(items.length);
    if (end !== undefined) return { sizes, readAhead };
    await nextTurn();
  }
}

const sum = (sizes: number[]) => sizes.reduce((a, b) => a + b, 0);

test("large events are read ahead, and sent together, up to some 256 KiB", async () => {
  const { sizes, readAhead } = await messages(100_000);
  assert.ok(readAhead <= 3, `${readAhead} are read before anybody asks`);
  assert.ok(Math.max(...sizes) <= 3, `at most three in a message: ${Math.max(...sizes)}`);
  assert.equal(sum(sizes), EVENTS);
});

test("an event that is larger than all that goes in a message goes alone", async () => {
  const { sizes } = await messages(300_000);
  assert.deepEqual(
    sizes,
    Array.from({ length: EVENTS }, () => 1),
  );
});

test("small events go together", async () => {
  const { sizes } = await messages(100);
  assert.ok(sizes.length < EVENTS / 100, `${sizes.length} messages`);
  assert.equal(sum(sizes), EVENTS);
});
