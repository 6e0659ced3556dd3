import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonPath } from "../apiserver/table/json-path.ts";
import { age } from "./age.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const ago = (seconds: number) => age(new Date(NOW.getTime() - seconds * 1000).toISOString(), NOW);

test("ages are printed as kubectl prints them", () => {
  const cases: [number, string][] = [
    [0, "0s"],
    [119, "119s"],
    [120, "2m"],
    [125, "2m5s"],
    [600, "10m"],
    [3 * 3600 - 1, "179m"],
    [3 * 3600, "3h"],
    [3 * 3600 + 120, "3h2m"],
    [8 * 3600 + 120, "8h"],
    [47 * 3600, "47h"],
    [49 * 3600, "2d1h"],
    [9 * 86400, "9d"],
    [365 * 86400, "365d"],
    [731 * 86400, "2y1d"],
    [3000 * 86400, "8y"],
  ];
  for (const [seconds, text] of cases) assert.equal(ago(seconds), text);
  assert.equal(age(undefined, NOW), "<unknown>");
  assert.equal(age("2027-01-01T00:00:00Z", NOW), "<invalid>");
});

test("paths of printer columns find what they name", () => {
  const object = {
    metadata: { annotations: { "a.b/c": "x" } },
    spec: { list: [{ name: "one" }, { name: "two", port: 80 }], zero: 0 },
    status: {
      conditions: [
        { type: "Ready", status: "True" },
        { type: "Other", status: "False" },
      ],
    },
  };
  const cases: [string, unknown[]][] = [
    [".spec.zero", [0]],
    [".spec.list[0].name", ["one"]],
    [".spec.list[-1].port", [80]],
    [".spec.list[*].name", ["one", "two"]],
    [".spec['list'][1].port", [80]],
    [".metadata.annotations.a\\.b/c", ["x"]],
    [".metadata.annotations['a.b/c']", ["x"]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type=='Other')].status", ["False"]],
    [".spec.list[?(@.port)].name", ["two"]],
    [".spec.list[?(@.port==80)].name", ["two"]],
    [".spec.missing.more", []],
    [".constructor", []],
    ["[[[", []],
  ];
  for (const [path, expected] of cases) assert.deepEqual(jsonPath(path)(object), expected, path);
});
