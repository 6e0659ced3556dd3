import assert from "node:assert/strict";
import { test } from "node:test";
import { everyday, thorough } from "@mooring/store/testing";
import { cannedApi } from "../testing/api.ts";
import { mooring } from "../testing/command.ts";
import { duration, term } from "./duration.ts";

test("every option that is a time takes the same times", everyday(), () => {
  const read = ["15", "15s", "5m", "2h", "1d", "24d"].map(duration);
  assert.deepEqual(read, [15_000, 15_000, 300_000, 7_200_000, 86_400_000, 24 * 86_400_000]);
  assert.equal(term("90d"), 90 * 86_400_000);
  for (const text of ["", "0", "-1", "1.5h", "2w", "25d", "soon", "9999999999"])
    assert.throws(() => duration(text), /write it like 30m .*at most 24d/, text);
});

test("a wait that is too long for a timer is refused before anything is asked", thorough(), async (t) => {
  const api = await cannedApi(t);
  const server = ["--kubeconfig", api.kubeconfig];
  for (const args of [
    ["volume", "attach", "v", "--node", "a", "--timeout", "60d"],
    ["volume", "attach", "v", "--node", "a", "--timeout", "30d"],
    ["group", "wait", "noon", "--timeout", "999999h"],
  ]) {
    const { code, stderr } = await mooring([...args, ...server]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /'--timeout <time>'.*is invalid.*at most 24d/);
  }
  assert.deepEqual(api.requests, []);
});

test("help writes times and collections as an operator does", thorough(), async () => {
  const attach = await mooring(["volume", "attach", "--help"]);
  assert.match(attach.stdout, /how long to wait \(default: 2m\)/);
  const restore = await mooring(["group", "restore", "--help"]);
  assert.match(restore.stdout, /how long to wait \(default: 5m\)/);
  assert.doesNotMatch(restore.stdout, /default: \{\}/);
});

test("a pair that is none is refused with an example of the same option", thorough(), async () => {
  for (const [option, example] of [
    ["--name", "data=copy"],
    ["--size", "data=10Gi"],
  ] as const) {
    const { code, stderr } = await mooring(["group", "restore", "r", "--from", "noon", option, "data"]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, new RegExp(`option '${option} .*such as ${example}\\.`));
  }
});
