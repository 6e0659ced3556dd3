import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { testRegistry, Widgets } from "../contract/index.ts";
import { isStatus } from "../object/status-error.ts";
import { openStore } from "../testing/open-store.ts";
import { Link } from "./link.ts";
import { serveStore } from "./serve-store.ts";
import { ThreadStore } from "./thread-store.ts";

test("a link outlives a thread of the store that stands still for long", (t) => {
  const [calls, atOnce] = [new MessageChannel(), new MessageChannel()];
  const responses = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const numbers = new Int32Array(responses);
  const link = new Link({ calls: calls.port2, atOnce: atOnce.port2, responses, requireNamespaces: false });
  t.after(() => link.close());
  let waits = 0;
  // As if the process had been stopped meanwhile: all the time that one may wait for is over.
  t.mock.method(Atomics, "wait", () => {
    waits += 1;
    if (waits < 3) return "timed-out";
    atOnce.port1.postMessage({ value: "here it is" });
    Atomics.add(numbers, 0, 1);
    return "ok";
  });
  assert.equal(link.atOnce({ do: "disk-fault", fault: "full" }), "here it is");
});

test("a thread that asks a store that is served no more gets an error, and does not wait", async (t) => {
  const store = await openStore(t);
  const over = new AbortController();
  const { link } = serveStore(store, { signal: over.signal });
  const remote = new ThreadStore(link, { registry: testRegistry() });
  t.after(() => remote.close());
  over.abort();
  // The message that reports the end comes later than this.
  assert.throws(
    () => remote.getJson(Widgets, { namespace: "default", name: "a" }),
    (error) => isStatus(error, "ServiceUnavailable"),
  );
});
