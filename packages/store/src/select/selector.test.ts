import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isStatus } from "../object/status-error.ts";
import { matchesFields, parseFieldSelector } from "./field-selector.ts";
import {
  formatLabelSelector,
  labelRequirements,
  matchesLabels,
  parseLabelSelector,
} from "./label-selector.ts";

const labels = { app: "db", "example.com/tier": "back", empty: "" };

test("label selectors in string form", () => {
  const cases: [string, boolean][] = [
    ["", true],
    ["app=db", true],
    ["app==db", true],
    ["app = db , empty=", true],
    ["app!=db", false],
    ["other!=db", true],
    ["app in (web,db)", true],
    ["app in (web)", false],
    ["app notin (web),example.com/tier", true],
    ["other notin (x)", true],
    ["empty in ()", true],
    ["!app", false],
    ["! other", true],
    ["in=db", false],
    ["toString", false],
  ];
  for (const [selector, expected] of cases) {
    assert.equal(matchesLabels(parseLabelSelector(selector), labels), expected, selector);
  }
  for (const selector of ["=", "a=b=c", "a in b", "a in (b", "a,,b", "-a", "a/b/c", "a>1x", ","]) {
    assert.throws(
      () => parseLabelSelector(selector),
      (error) => isStatus(error, "BadRequest"),
      selector,
    );
  }
});

test("structured label selectors mean the same in string form", () => {
  const label = fc.constantFrom("app", "example.com/tier", "empty", "other");
  const values = fc.array(fc.constantFrom("db", "back", "web"), { minLength: 1, maxLength: 3 });
  const expression = fc.oneof(
    fc.record({ key: label, operator: fc.constantFrom("In", "NotIn"), values }),
    fc.record({ key: label, operator: fc.constantFrom("Exists", "DoesNotExist") }),
  );
  fc.assert(
    fc.property(fc.array(expression, { maxLength: 4 }), (matchExpressions) => {
      const requirements = labelRequirements({ matchExpressions });
      const parsed = parseLabelSelector(formatLabelSelector(requirements));
      assert.equal(matchesLabels(parsed, labels), matchesLabels(requirements, labels));
    }),
  );
  assert.throws(
    () => labelRequirements({ matchExpressions: [{ key: "a", operator: "In" }] }),
    /needs values/,
  );
  assert.throws(() => labelRequirements({ matchExpressions: [{ key: "a", operator: "Gt" }] }), /not a valid/);
});

test("field selectors", () => {
  const fields = { "metadata.name": "a", "spec.note": "x,y=z" };
  const cases: [string, boolean][] = [
    ["", true],
    ["metadata.name=a", true],
    ["metadata.name==b", false],
    ["metadata.name!=b,spec.note=x\\,y\\=z", true],
  ];
  for (const [selector, expected] of cases) {
    assert.equal(matchesFields(parseFieldSelector(selector), fields), expected, selector);
  }
  assert.throws(() => parseFieldSelector("metadata.name"), /invalid selector/);
  assert.throws(
    () => matchesFields(parseFieldSelector("status.phase=x"), fields),
    /field label not supported: status.phase/,
  );
});
