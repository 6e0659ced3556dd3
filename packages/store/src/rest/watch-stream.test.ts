import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Shelves, shelf } from "../contract/kinds.ts";
import { isStatus } from "../object/status-error.ts";
import type { SilenceListener } from "./http.ts";
import { watchEvents } from "./watch-stream.ts";

/** No watch of this test ends by its own silence. */
const NEVER_MS = 2 ** 31 - 1;

test("a watch outlives a request without a response when it has brought something since, and else ends", async () => {
  const response = new PassThrough();
  const listeners = new Set<SilenceListener>();
  const client = {
    onSilence(listener: SilenceListener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const report = (since: number) => {
    for (const listener of listeners) listener(since);
  };
  const events = watchEvents(Shelves, response, { client, read: (line) => line, idleMs: NEVER_MS });
  const began = performance.now();
  response.write(`${JSON.stringify({ type: "ADDED", object: shelf("one") })}\n`);
  assert.equal((await events.next()).value?.object.metadata.name, "one");
  report(began);
  assert.equal(response.destroyed, false);
  report(performance.now());
  await assert.rejects(events.next(), (error) => isStatus(error, "ServiceUnavailable"));
  assert.equal(listeners.size, 0);
});
