import assert from "node:assert/strict";
import { test } from "node:test";
import { containerFiles } from "./container-files.ts";
import { changesOf } from "./watch-exit.ts";

test("a container is followed where no file can be watched", async () => {
  // As on a machine that has no more watches.
  const files = containerFiles("/nonexistent/container", "/nonexistent/bundle");
  const closing = new AbortController();
  const next = changesOf(files, undefined, closing.signal);
  await next();
  closing.abort();
  await assert.rejects(next());
});
