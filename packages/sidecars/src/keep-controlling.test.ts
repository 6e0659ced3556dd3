import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LocalStore, type ObjectStore } from "@mooring/store";
import { keepControlling } from "./keep-controlling.ts";
import { testRegistry } from "./testing/registry.ts";
import { ScriptedDriver } from "./testing/scripted-driver.ts";

/** Lists nothing: what a controller lists ends it, once it has run for as long as the test wants. */
function breaking(store: ObjectStore, ran: () => Promise<void>): ObjectStore {
  const list = async (): Promise<never> => {
    await ran();
    throw new Error("the disk of the API server has failed");
  };
  return new Proxy(store, {
    get(target, name) {
      const value = name === "list" ? list : Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

test("controllers that break wait longer each time, and after a long time in which they ran as after the first", async (t) => {
  const path = await mkdtemp(join(tmpdir(), "mooring-keep-"));
  const store = await LocalStore.open({ path, registry: testRegistry() });
  const driver = await ScriptedDriver.start();
  t.after(async () => {
    await driver.stop();
    await store.close();
    await rm(path, { recursive: true, force: true });
  });
  const restart = { startMs: 1, maxMs: 16 };
  /** Milliseconds for which they run until each break, by a clock that nothing else moves. */
  const runs = [0, 0, 0, 0, 0, 31, 32, 0, 1_000];
  const pauses: number[] = [];
  let time = 0;
  let controlled = gate();
  const stop = new AbortController();
  await keepControlling(
    {
      store: breaking(store, () => controlled.opened),
      endpoint: driver.endpoint,
      controllers: ["health"],
      ...{ restart, now: () => time, signal: stop.signal },
    },
    undefined,
    {
      controlled() {
        time += runs[pauses.length] ?? 0;
        controlled.open();
      },
      broke({ message }, waitMs) {
        assert.match(message, /disk of the API server/);
        controlled = gate();
        pauses.push(waitMs);
        if (pauses.length === runs.length) stop.abort();
      },
    },
  );
  // The wait is spread by a fifth in both directions, and at most the longest.
  const about = (milliseconds: number) => (waitMs: number) =>
    waitMs >= Math.floor(0.8 * milliseconds) &&
    waitMs <= Math.min(restart.maxMs, Math.ceil(1.2 * milliseconds));
  const expected = [1, 2, 4, 8, 16, 16, 1, 2, 1];
  const wrong = pauses.filter((waitMs, index) => !about(expected[index] ?? 0)(waitMs));
  assert.deepEqual(wrong, [], `${pauses} instead of about ${expected}`);
});
