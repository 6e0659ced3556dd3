import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "../model.ts";
import { undeclaredField } from "./declared-fields.ts";
import { CelCompileError, compile } from "./environment.ts";
import { checkRules } from "./rules.ts";

const text: Schema = { type: "string" };
const spec: Schema = {
  type: "object",
  properties: {
    a: { type: "integer" },
    n: { type: "number" },
    b: text,
    q: { "x-kubernetes-int-or-string": true },
    "a-b": text,
    namespace: text,
    t: { type: "string", format: "date-time" },
    d: { type: "string", format: "duration" },
    bytes: { type: "string", format: "byte" },
    l: { type: "array", items: text },
    o: { type: "array", items: { type: "object", properties: { k: text, v: { type: "integer" } } } },
    m: { type: "object", additionalProperties: text },
    nil: { type: "string", nullable: true },
  },
};
const value = {
  a: 3,
  n: 2,
  b: "x",
  q: 5,
  "a-b": "z",
  namespace: "ns",
  t: "2020-01-01T00:00:00Z",
  d: "1h",
  bytes: "YWJj",
  l: ["a", "b"],
  o: [
    { k: "p", v: 1 },
    { k: "q", v: 2 },
  ],
  m: { "k.k": "v" },
  nil: null,
};

/** Every line is true of the value above. */
const TRUE = `
self.a == 3 && self.a + 1 == 4 && self.a < 3.5
self.n == 2.0 && self.n * 1.5 == 3.0
self.q == 5 && type(self.q) == int
self.a__dash__b == 'z' && self.__namespace__ == 'ns'
self.t > timestamp('2019-12-31T23:59:59Z') && self.t.getFullYear() == 2020
self.d >= duration('30m') && self.d == duration('3600s')
self.bytes == b'abc'
self.nil == null
'k.k' in self.m && self.m['k.k'] == 'v' && size(self.m) == 1
self.l.all(x, x.matches('^[a-z]$')) && self.l.exists(x, x == 'b') && self.l.exists_one(x, x == 'a')
self.o.map(i, i.v).sum() == 3 && self.o.filter(i, i.v > 1).size() == 1 && self.o.map(i, i.v > 1, i.k) == ['q']
self.o.all(i, has(i.k)) && has(self.o[0].v) && !has(self.o[0].k) == false
self.l.isSorted() && self.l.indexOf('b') == 1 && self.l.lastIndexOf('z') == -1 && self.l.max() == 'b' && [3, 1].min() == 1
self.l.all(i, x, i < 2 && x != '') && self.m.exists(k, v, k == 'k.k' && v == 'v')
sets.contains(self.l, ['a']) && sets.equivalent([1, 2], [2, 1]) && !sets.intersects(self.l, ['z'])
quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && quantity('1.5').isGreaterThan(quantity('1')) && !isQuantity('1x')
quantity('2k').add(quantity('1')).asInteger() == 2001 && !quantity('100m').isInteger() && quantity('-1').sign() == -1
isURL('https://a.b/c') && url('https://a.b:80/c?x=1').getHost() == 'a.b:80' && url('https://a/c').getEscapedPath() == '/c'
ip('127.0.0.1').isLoopback() && ip('::1').family() == 6 && !isIP('1.2.3')
cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').prefixLength() == 8 && !isCIDR('10.0.0.0/33')
!format.dns1123Label().validate('abc').hasValue() && format.dns1123Label().validate('A').hasValue()
!format.named('nonsense').hasValue() && !format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
'%s-%d-%.2f'.format([self.b, self.a, 1.0]) == 'x-3-1.00' && 'abc'.replace('b', 'x') == 'axc' && 'abc'.charAt(1) == 'b'
'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'A,b'.lowerAscii().split(',').join('-') == 'a-b'
self.?zz.orValue('none') == 'none' && self.?b.optMap(x, x + x).orValue('') == 'xx' && !self.?b.optFlatMap(x, self.?zz).hasValue()
cel.bind(x, self.a, x * x) == 9
'YES'.matches('^(?i)yes$') && matches('a.b', '^a\\\\.b$') && self.b.matches('^x\\\\z') && 'has(' != 'matches('
(self.a > 100 || self.b == 'x') && (has(self.zz) ? self.zz : self.b) == 'x'
`;
for (const rule of TRUE.trim().split("\n")) {
  test(`CEL: ${rule}`, () => {
    const schema: Schema = { ...spec, "x-kubernetes-validations": [{ rule }] };
    assert.deepEqual(checkRules(value, undefined, schema), []);
  });
}

test("CEL: a rule that fails, or cannot be evaluated, is reported at its place", () => {
  const errors = (rule: string, more = {}) =>
    checkRules({ spec: value }, undefined, {
      type: "object",
      properties: { spec: { ...spec, "x-kubernetes-validations": [{ rule, ...more }] } },
    }).map(({ reason, field, body }) => `${reason} ${field}: ${body}`);
  assert.deepEqual(errors("self.a > 5"), [
    'FieldValueInvalid spec: Invalid value: "object": failed rule: self.a > 5',
  ]);
  assert.deepEqual(errors("self.a > 5", { message: "too few" }), [
    'FieldValueInvalid spec: Invalid value: "object": too few',
  ]);
  assert.deepEqual(
    errors("false", {
      messageExpression: "'only ' + string(self.a)",
      reason: "FieldValueForbidden",
      fieldPath: ".a",
    }),
    ["FieldValueForbidden spec.a: Forbidden: only 3"],
  );
  assert.deepEqual(errors("false", { message: "plain", messageExpression: "self.zz" }), [
    'FieldValueInvalid spec: Invalid value: "object": plain',
  ]);
  assert.deepEqual(errors("self.m['zz'] == 'v'"), [
    `FieldValueInvalid spec: Invalid value: "object": no such key: zz evaluating rule: self.m['zz'] == 'v'`,
  ]);
});

test("CEL: transition rules run on changes only, or with an optional old value", () => {
  const run = (rule: object, next: unknown, old: unknown) =>
    checkRules(next, old, { type: "integer", "x-kubernetes-validations": [rule as never] }).length;
  const grows = { rule: "self >= oldSelf" };
  assert.deepEqual([run(grows, 1, undefined), run(grows, 2, 1), run(grows, 1, 2)], [0, 0, 1]);
  const first = { rule: "oldSelf.hasValue() || self == 1", optionalOldSelf: true };
  assert.deepEqual([run(first, 1, undefined), run(first, 2, undefined), run(first, 2, 1)], [0, 1, 0]);
  const even = { rule: "self % 2 == 0" };
  assert.deepEqual(
    [run(even, 3, 3), run(even, 3, 2)],
    [0, 1],
    "what was stored before does not lock the object",
  );
});

test("CEL: expressions are checked before they are used", () => {
  for (const bad of ["self.a +", "nonsense(1)", "'a' + 1", "unknown == 1", "has(self)"]) {
    assert.throws(() => compile(bad), CelCompileError, bad);
  }
  const undeclared: [string, string | undefined][] = [
    ["self.zz == 1", "zz"],
    ["has(self.zz)", "zz"],
    ["self.o.all(i, i.nope == 1)", "nope"],
    ["self.o[0].nope == 1", "nope"],
    ["self.m.anything == 'x'", undefined],
    ["self.o.exists(i, i.k == 'x') && self.l.all(x, size(x) > 0)", undefined],
    ["self.o.filter(i, i.v > 1).all(i, i.nope > 1)", "nope"],
  ];
  for (const [rule, field] of undeclared) {
    const found = undeclaredField(rule, spec);
    assert.equal(
      found?.includes(`undefined field '${field}'`),
      field === undefined ? undefined : true,
      `${rule}: ${found}`,
    );
  }
});
