import assert from "node:assert/strict";
import { test } from "node:test";
import { processorTime } from "@mooring/store/testing";
import { BudgetSpent, withinBudget } from "../budget.ts";
import { compile } from "./environment.ts";

test("a text that a rule would make a thousand times as long is not made", () => {
  const long = `'${"x".repeat(1000)}'`;
  const self = "a".repeat(1_000_000);
  for (const call of [
    `replace('a', ${long})`,
    `replace('a', ${long}, -1)`,
    `replace('a', ${long}, 900000)`,
  ]) {
    const { evaluate } = compile(`self.${call} == ''`);
    assert.throws(() => withinBudget(() => evaluate({ self })), BudgetSpent, call.slice(0, 20));
  }
});

test("the query of a URL is read in time that grows with its length only", () => {
  const self = `http://host/?${"a=1&".repeat(100_000)}b=2&__proto__=3`;
  const { evaluate } = compile(
    "url(self).getQuery()['a'].size() == 100000 && url(self).getQuery()['b'] == ['2']",
  );
  const spent = processorTime();
  assert.equal(
    withinBudget(() => evaluate({ self })),
    true,
  );
  assert.ok(spent() < 10_000);
});

test("a format that an object inherits is none", () => {
  const { evaluate } = compile("format.named('toString').hasValue()");
  assert.equal(evaluate({ self: "" }), false);
});
