import assert from "node:assert/strict";
import { test } from "node:test";
import { type Holder, Places } from "./places.ts";

/** What was ended, by name; a name begins with its user. */
function record(places: Places) {
  const ended: string[] = [];
  const take = (name: string, { busy = false } = {}): Holder => {
    const [user = ""] = name.split("/");
    const holder = { user, mayEnd: () => !busy, end: () => ended.push(name) };
    places.add(holder);
    return holder;
  };
  return { ended, take };
}

test("a user has so many places, and gets another for the oldest one that may end", () => {
  const places = new Places({ ofOne: 2, all: 10 });
  const { ended, take } = record(places);
  take("a/1", { busy: true });
  take("a/2");
  take("b/1");
  assert.equal(places.hasTooMany("a"), false);
  const last = take("a/3");
  assert.equal(places.hasTooMany("a"), true);
  assert.equal(places.endOneOf("a", last), true);
  assert.deepEqual(ended, ["a/2"]);
  assert.equal(places.hasTooMany("a"), false);
  const more = take("a/4", { busy: true });
  places.leave(last);
  assert.equal(places.endOneOf("a", more), false);
});

test("when there are too many, whoever has the most loses the oldest, and never one who has less than the newcomer", () => {
  const places = new Places({ ofOne: 10, all: 3 });
  const { ended, take } = record(places);
  for (const name of ["a/1", "b/1", "b/2"]) take(name);
  const newcomer = take("c/1");
  assert.equal(places.isOverfull, true);
  assert.equal(places.endOneOfMost(newcomer), true);
  assert.deepEqual(ended, ["b/1"]);
  assert.equal(places.isOverfull, false);
  const greedy = take("c/2");
  assert.equal(places.endOneOfMost(greedy), true);
  assert.deepEqual(ended, ["b/1", "c/1"]);
});

test("those that are busy are spared, and whoever has less as long as another has more", () => {
  const places = new Places({ ofOne: 10, all: 2 });
  const { ended, take } = record(places);
  take("a/1", { busy: true });
  take("a/2", { busy: true });
  take("b/1");
  assert.equal(places.endOneOfMost(take("b/2")), true);
  assert.deepEqual(ended, ["b/1"]);
});

test("where all are busy, the oldest of whoever has the most ends for one who has less, and only where that is asked for", () => {
  const places = new Places({ ofOne: 10, all: 3 });
  const { ended, take } = record(places);
  for (const name of ["a/1", "b/1", "b/2"]) take(name, { busy: true });
  const newcomer = take("");
  assert.equal(places.endOneOfMost(newcomer), false);
  assert.equal(places.endOneOfMost(newcomer, { busy: true }), true);
  assert.deepEqual(ended, ["b/1"]);
  places.leave(newcomer);
  assert.equal(places.endOneOfMost(take("a/2", { busy: true }), { busy: true }), false);
});

test("the service accounts of a namespace count together", () => {
  const places = new Places({ ofOne: 10, all: 4 });
  const { ended, take } = record(places);
  const account = (name: string) => `system:serviceaccount:greedy:${name}`;
  for (const name of [account("a"), account("b"), account("c"), "modest/1"]) take(name);
  assert.equal(places.endOneOfMost(take("modest/2")), true);
  assert.deepEqual(ended, [account("a")]);
});
