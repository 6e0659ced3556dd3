import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { pino } from "pino";
import { logLine } from "./log-line.ts";

/** What an operator reads of something that is logged as `fields` and `message`. */
function line(fields: object, message: string, colors = false): string {
  const written: string[] = [];
  pino({}, { write: (text: string) => written.push(text) }).warn(fields, message);
  return logLine(JSON.parse(written.join("")), { colors });
}

class Refused extends Error {
  readonly code = "UNAVAILABLE";
}

for (const [what, fields, expected] of [
  ["nothing else", {}, "cannot read a pool"],
  ["text and numbers", { pool: "default", tries: 3 }, "cannot read a pool pool=default tries=3"],
  [
    "text with spaces and breaks",
    { why: 'no "room"\nleft' },
    'cannot read a pool why="no \\"room\\"\\nleft"',
  ],
  ["an empty text", { why: "" }, 'cannot read a pool why=""'],
  [
    "a field with parts",
    { key: { namespace: "ns", name: "data" } },
    "cannot read a pool key.namespace=ns key.name=data",
  ],
  [
    "a list",
    { devices: ["/dev/loop1", "/dev/loop2"] },
    'cannot read a pool devices=["/dev/loop1","/dev/loop2"]',
  ],
  [
    "a long text",
    { output: "x".repeat(400) },
    `cannot read a pool output=${JSON.stringify(`${"x".repeat(300)}…`)}`,
  ],
  [
    "an error with a code",
    { err: new Refused("the pool is not open") },
    'cannot read a pool err="the pool is not open" err.code=UNAVAILABLE',
  ],
] as const)
  test(`what is logged with ${what} is one line`, () => {
    assert.equal(line(fields, "cannot read a pool"), expected);
  });

test("an error that nobody expected says where it comes from, still in one line", () => {
  const text = line({ err: new TypeError("x is not\na function") }, "a part\nhas failed");
  assert.match(
    text,
    /^a part has failed err="TypeError: x is not\\na function" err\.at=".*log-line\.test.*"$/,
  );
});

test("colors change nothing else", () => {
  const fields = { pool: "default", err: new Refused("no") };
  assert.equal(stripVTControlCharacters(line(fields, "x", true)), line(fields, "x"));
  assert.notEqual(line(fields, "x", true), line(fields, "x"));
});
