import assert from "node:assert/strict";
import { test } from "node:test";
import { keepResyncing } from "./resync.ts";

/** A controller with one key that has work whenever somebody asks. */
function controller(passOf: () => unknown, { awaitsEvent = false } = {}) {
  const found: string[] = [];
  const added: string[] = [];
  const stop = new AbortController();
  let asked = 0;
  const resynced = {
    ...{
      name: "one",
      store: undefined,
      idle: true,
      taken: 0,
      backlog: { ready: 0, oldestMs: 0, activeMs: [] },
      passOf,
    },
    keys: () => ["key"],
    forgotten: async () => {
      asked += 1;
      // Two requests for each time that the key's turn comes.
      if (asked > 6) stop.abort();
      return { step: { do: "step" }, awaitsEvent };
    },
    found: (key: string) => void found.push(key),
    add: (key: string) => void added.push(key),
  };
  return { added, found, run: () => keepResyncing(resynced, stop.signal, 10) };
}

test("a resync finds what is due and has not been read in between", async () => {
  const pass = {};
  const { found, run } = controller(() => pass);
  await run();
  assert.ok(found.length >= 3);
});

test("a resync leaves alone what is read again and again: it changes all the time", async () => {
  const { found, run } = controller(() => ({}));
  await run();
  assert.deepEqual(found, []);
});

test("what has an event on its way is asked for by a resync, and not counted as forgotten", async () => {
  const pass = {};
  const { added, found, run } = controller(() => pass, { awaitsEvent: true });
  await run();
  assert.deepEqual(found, []);
  assert.ok(added.length >= 3);
});
