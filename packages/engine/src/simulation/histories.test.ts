import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, howMany } from "@mooring/store/testing";
import { search } from "./search.ts";

// `scripts/mutate-arbiter.mjs` breaks the arbiter in the ways that mutations.json lists, one at a time, and checks that
// these histories find it, and by which property.
const HISTORIES = howMany({ everyday: 75, full: 2_000, deep: 100_000 });

test("random histories with faults keep the volume safe, and come to rest", () => {
  covers("LHA-002", "LHA-004", "LHA-023", "LHA-026", "LHA-027", "LHA-030", "LHA-031", "LHA-061");
  const story = search(HISTORIES);
  if (story !== undefined) assert.fail(story);
});
