import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { everyday, howMany, killEveryFailpoint, sample, thorough } from "./sample.ts";

const CASES = Array.from({ length: 40 }, (_, index) => `case-${index}`);
const SIZES = { everyday: 3, full: 12 };
const chosen = (part: string, seed: number) =>
  sample(CASES, SIZES, { MOORING_TESTS: part, MOORING_SEED: String(seed) });

describe("a sample", () => {
  test("everyday and rest are all, and have nothing in common", () => {
    for (let day = 20_000; day < 20_100; day += 1) {
      const everyday = chosen("everyday", day);
      const rest = chosen("rest", day);
      assert.equal(everyday.length, SIZES.everyday);
      assert.equal(rest.length, SIZES.full - SIZES.everyday);
      assert.deepEqual(new Set([...everyday, ...rest]), new Set(chosen("all", day)));
      assert.equal(chosen("all", day).length, SIZES.full);
    }
  });

  test("every case has its day", () => {
    const met = new Set<string>();
    for (let day = 20_000; day < 20_100; day += 1) for (const each of chosen("everyday", day)) met.add(each);
    assert.equal(met.size, CASES.length);
  });

  test("one day has one choice", () => {
    assert.deepEqual(chosen("everyday", 7), chosen("everyday", 7));
    assert.notDeepEqual(chosen("everyday", 7), chosen("everyday", 8));
  });

  test("MOORING_DEEP=1 is every case, whatever part is asked for", () => {
    assert.deepEqual(sample(CASES, SIZES, { MOORING_DEEP: "1", MOORING_TESTS: "rest" }), CASES);
  });

  test("without a full size, all and rest leave nothing out", () => {
    const env = { MOORING_TESTS: "all" };
    assert.deepEqual(sample(CASES, { everyday: 3 }, env), CASES);
    assert.equal(sample(CASES, { everyday: 3 }, { MOORING_TESTS: "rest" }).length, 37);
  });

  test("a part that does not exist is refused", () => {
    assert.throws(() => sample(CASES, SIZES, { MOORING_TESTS: "some" }), /everyday, rest or all/);
  });
});

test("a suite that has found no failpoint is refused", () => {
  assert.throws(() => killEveryFailpoint([], SIZES, () => {}), /imported/);
});

test("a suite kills on one day of six, and in the rest what it has not killed that day; a daily one every day", () => {
  const killed = (part: string, seed: number, daily = false) => {
    const met: string[] = [];
    const env = { MOORING_TESTS: part, MOORING_SEED: String(seed) };
    killEveryFailpoint(CASES, { ...SIZES, daily }, (each) => met.push(each), env);
    return met;
  };
  for (let day = 20_000; day < 20_036; day += 6) {
    const days = [0, 1, 2, 3, 4, 5].map((more) => day + more);
    const counts = days.map((each) => killed("everyday", each).length);
    assert.deepEqual([...counts].sort(), [0, 0, 0, 0, 0, SIZES.everyday]);
    assert.equal(killed("everyday", day, true).length, SIZES.everyday);
    for (const each of days) {
      const both = [...killed("everyday", each), ...killed("rest", each)];
      assert.deepEqual(new Set(both), new Set(killed("all", each)));
      assert.equal(both.length, SIZES.full);
    }
  }
});

test("what is thorough runs in every part but the everyday one", () => {
  assert.equal(typeof thorough({ MOORING_TESTS: "everyday" }).skip, "string");
  assert.equal(thorough({ MOORING_TESTS: "rest" }).skip, false);
  assert.equal(thorough({ MOORING_DEEP: "1" }).skip, false);
});

test("an amount is that of the part that runs, and of the part before it when it has none", () => {
  const all = { everyday: 1, full: 2, deep: 3 };
  const parts = [{}, { MOORING_TESTS: "rest" }, { MOORING_TESTS: "all" }, { MOORING_DEEP: "1" }];
  assert.deepEqual(
    parts.map((env) => howMany(all, env)),
    [1, 2, 2, 3],
  );
  assert.deepEqual(
    parts.map((env) => howMany({ everyday: 1 }, env)),
    [1, 1, 1, 1],
  );
});

test("a test of every day does not run a second time in the rest", () => {
  assert.equal(everyday({}).skip, false);
  assert.equal(everyday({ MOORING_TESTS: "all" }).skip, false);
  assert.equal(typeof everyday({ MOORING_TESTS: "rest" }).skip, "string");
});
