import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isStatus } from "../object/status-error.ts";
import { matchesFields, parseFieldSelector } from "./field-selector.ts";
import {
  formatLabelSelector,
  type LabelSelector,
  labelRequirements,
  matchesLabels,
  parseLabelSelector,
} from "./label-selector.ts";
import { allowsTopology, selectsNode } from "./node-selector.ts";

const labels = { app: "db", "example.com/tier": "back", empty: "", size: "10" };

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
    // All of these are what a Kubernetes API server (1.35.4) takes, and what it takes them for.
    ["empty=", true],
    ["app=", false],
    ["empty!=", false],
    ["app!=", true],
    ["app in (db,)", true],
    ["empty in (,)", true],
    ["app in(db)", true],
    ["in,app", false],
    ["notin", false],
    ["!in", true],
    ["size>9", true],
    ["size > 10", false],
    ["size<11,app", true],
    ["app>1", false],
    ["none<5", false],
  ];
  for (const [selector, expected] of cases) {
    assert.equal(matchesLabels(parseLabelSelector(selector), labels), expected, selector);
  }
  for (const selector of ["=", "a in b", "a in (b", "a,,b", "a/b/c", "a>", "a in (b c)", "a=b c"]) {
    assert.throws(
      () => parseLabelSelector(selector),
      (error) => isStatus(error, "BadRequest"),
      selector,
    );
  }
});

test("a label selector that is none is refused with the message of a Kubernetes API server (1.35.4)", () => {
  const inside = "unable to parse requirement: ";
  const cases: [string, string][] = [
    ["a in (", `${inside}found '', expected: ',', ')' or identifier`],
    ["a in (x", `${inside}found '', expected: ',' or ')'`],
    ["!!a", `${inside}found '!', expected: identifier`],
    ["a===b", `${inside}found '=', expected: identifier`],
    ["a=b=c", "found '=', expected: ',' or 'end of string'"],
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["a b", `${inside}found 'b', expected: in, notin, =, ==, !=, gt, lt`],
    ["=b", "found '=', expected: !, identifier, or 'end of string'"],
    ["a=b,,c", "found ',', expected: identifier after ','"],
    ["!", `${inside}found '', expected: identifier`],
    ["a>x", `${inside}values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
    ["-a", `${inside}<nil>: Invalid value: "-a": name part must consist of`],
    ["a=-b", `${inside}values[0][a]: Invalid value: "-b": a valid label must be an empty string or`],
    ["a>-1", `${inside}values[0][a]: Invalid value: "-1": a valid label must be an empty string or`],
  ];
  for (const [selector, message] of cases)
    assert.throws(
      () => parseLabelSelector(selector),
      (error: Error) => error.message.startsWith(message),
      selector,
    );
});

test("two equals signs with nothing behind them are refused, and the empty value can be asked for", () => {
  for (const selector of ["empty==", "empty== ", "empty==,app", "app,empty=="])
    assert.throws(
      () => parseLabelSelector(selector),
      (error) => isStatus(error, "BadRequest") && /for the empty value write 'empty='$/.test(error.message),
      selector,
    );
  assert.throws(
    () => parseFieldSelector("metadata.name=a,spec.nodeName=="),
    (error) =>
      isStatus(error, "BadRequest") && /for the empty value write 'spec.nodeName='$/.test(error.message),
  );
  assert.deepEqual(parseFieldSelector("spec.nodeName=,metadata.name!="), [
    { field: "spec.nodeName", equal: true, value: "" },
    { field: "metadata.name", equal: false, value: "" },
  ]);
  assert.equal(matchesLabels(parseLabelSelector("empty=,app"), labels), true);
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

test("keys and values that no label can have are refused in structured selectors too", () => {
  const wrong: LabelSelector[] = [
    { matchLabels: { "not a label": "x" } },
    { matchLabels: { app: "a b" } },
    { matchExpressions: [{ key: "", operator: "DoesNotExist" }] },
    { matchExpressions: [{ key: "app", operator: "NotIn", values: ["ok", `${"x".repeat(64)}`] }] },
    { matchExpressions: [{ key: "-app", operator: "Exists" }] },
    { matchExpressions: [{ key: "a/b/c", operator: "Exists" }] },
    { matchExpressions: [{ key: "a..b/c", operator: "Exists" }] },
  ];
  for (const selector of wrong)
    assert.throws(() => labelRequirements(selector), { reason: "BadRequest" }, JSON.stringify(selector));
  const right = { matchLabels: { "app.kubernetes.io/name": "", [`${"x".repeat(63)}`]: "A.b_c-1" } };
  assert.equal(labelRequirements(right).length, 2);
});

test("field selectors", () => {
  const fields = { "metadata.name": "a", "spec.note": "x,y=z" };
  const cases: [string, boolean][] = [
    ["", true],
    ["metadata.name=a", true],
    ["metadata.name==b", false],
    ["metadata.name!=b,spec.note=x\\,y\\=z", true],
    ["spec.note!=x\\\\,metadata.name=b", false],
  ];
  for (const [selector, expected] of cases) {
    assert.equal(matchesFields(parseFieldSelector(selector), fields), expected, selector);
  }
  for (const selector of ["metadata.name", "metadata.name=a=b", "metadata.name=a\\b", "metadata.name=a\\"])
    assert.throws(() => parseFieldSelector(selector), /invalid selector/, selector);
  assert.throws(
    () => matchesFields(parseFieldSelector("status.phase=x"), fields),
    /field label not supported: status.phase/,
  );
});

test("a node has no label by what every object inherits", () => {
  const node = { metadata: { name: "n1", labels: { zone: "a" } } };
  const selects = (key: string, operator: string, values: string[] = []) =>
    selectsNode({ nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }] }, node);
  assert.equal(selects("zone", "In", ["a"]), true);
  assert.equal(selects("constructor", "Exists"), false);
  assert.equal(selects("toString", "DoesNotExist"), true);
  assert.equal(selects("zone", "toString"), false);
  const terms = [{ matchLabelExpressions: [{ key: "zone", values: ["a"] }] }];
  assert.equal(allowsTopology(terms, node), true);
});
