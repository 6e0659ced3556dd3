import assert from "node:assert/strict";
import { test } from "node:test";
import { Shelves, shelf } from "../contract/kinds.ts";
import { openStore } from "../testing/open-store.ts";
import { waitFor } from "./wait-for.ts";

test("waitFor sees creation and deletion", async (t) => {
  const store = await openStore(t);
  const limit = AbortSignal.timeout(60_000);
  const created = waitFor(store, { resource: Shelves, key: { name: "a" } }, (s) => s !== undefined, limit);
  await store.create(Shelves, shelf("a"));
  assert.equal((await created)?.metadata.name, "a");
  const gone = waitFor(store, { resource: Shelves, key: { name: "a" } }, (s) => s === undefined, limit);
  await store.delete(Shelves, { name: "a" });
  assert.equal(await gone, undefined);
  await assert.rejects(
    waitFor(store, { resource: Shelves, key: { name: "b" } }, (s) => s !== undefined, AbortSignal.abort()),
  );
});
