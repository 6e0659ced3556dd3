import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { withTimeLimit } from "./wait.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

test("a time limit comes, also when garbage is collected before", async (t) => {
  const { signal } = new AbortController();
  const limit = withTimeLimit(200, signal);
  // A signal's timer keeps no process alive.
  const collecting = setInterval(collect, 20);
  t.after(() => clearInterval(collecting));
  await once(limit, "abort", { signal: AbortSignal.timeout(30_000) });
  assert.equal(limit.reason.name, "TimeoutError");
});

test("a limited signal aborts with the one that was given", () => {
  const stop = new AbortController();
  const limit = withTimeLimit(60_000, stop.signal);
  stop.abort(new Error("enough"));
  assert.equal(limit.reason.message, "enough");
});
