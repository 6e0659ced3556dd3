import assert from "node:assert/strict";
import { test } from "node:test";
import { Buffers } from "./buffers.ts";

const NEVER_SLOW = Number.POSITIVE_INFINITY;

test("when too much is kept, the oldest request of the user who has most is dropped", () => {
  const buffers = new Buffers({ mostBytes: 100, slowMs: NEVER_SLOW });
  const dropped: string[] = [];
  const keep = (user: string, name: string) => buffers.keep(user, () => dropped.push(name));
  const modest = keep("modest", "modest");
  modest.add(40);
  const [first, second] = [keep("greedy", "first"), keep("greedy", "second")];
  first.add(30);
  second.add(30);
  assert.deepEqual(dropped, []);
  second.add(1);
  assert.deepEqual(dropped, ["first"]);
  // What was dropped counts no more, whatever comes of it.
  first.add(1_000);
  first.release();
  second.add(29);
  assert.deepEqual(dropped, ["first"]);
  second.release();
  modest.add(60);
  assert.deepEqual(dropped, ["first"]);
});

test("whoever is slow is dropped before others, also where each of them keeps little", () => {
  const buffers = new Buffers({ mostBytes: 100, slowMs: 0 });
  const dropped: string[] = [];
  for (const user of ["a", "b", "c"]) buffers.keep(user, () => dropped.push(user)).add(30);
  const large = buffers.keep("large", () => dropped.push("large"));
  large.add(60);
  assert.deepEqual(dropped, ["a", "b"]);
});

test("a request that is too large for the room is dropped itself", () => {
  const buffers = new Buffers({ mostBytes: 100 });
  let dropped = 0;
  buffers.keep("a", () => (dropped += 1)).add(101);
  assert.equal(dropped, 1);
});
