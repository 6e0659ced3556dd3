import assert from "node:assert/strict";
import { test } from "node:test";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { type Pool, spaceLow } from "../../api/pool.ts";
import { news, openConditions } from "./conditions.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

/** What a pool says of its room, one state after the other, and the reasons of the events of each. */
function history(percents: readonly number[]): [level: string, events: string[]][] {
  let pool: Pool = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "Pool", metadata: { name: "p" } },
    spec: { type: "xfs", nodeID: "n", path: "/p" },
  };
  return percents.map((percent) => {
    const totalBytes = 1000 * 1024 ** 2;
    const freeBytes = totalBytes - Math.round((totalBytes * percent) / 100);
    const usage = { totalBytes, freeBytes, promisedBytes: 0, thickBytes: 0 };
    const conditions = openConditions(pool, usage, false, NOW);
    const events = news(pool.status?.conditions, conditions).map(({ reason }) => reason);
    pool = { ...pool, status: { ready: true, ...usage, conditions } };
    return [spaceLow(pool)?.reason ?? "", events];
  });
}

test("a pool that is used a little more and a little less at a level says so once", () => {
  assert.deepEqual(history([84, 84.9, 85, 84.5, 85.2, 84.1, 83.9, 84.5]), [
    ["", []],
    ["", []],
    ["FillingUp", ["FillingUp"]],
    ["FillingUp", []],
    ["FillingUp", []],
    ["FillingUp", []],
    ["", ["EnoughSpace"]],
    ["", []],
  ]);
  assert.deepEqual(history([96, 94.5, 95, 93.9, 94.5, 84.5, 80]), [
    ["AlmostFull", ["AlmostFull"]],
    ["AlmostFull", []],
    ["AlmostFull", []],
    ["FillingUp", ["FillingUp"]],
    ["FillingUp", []],
    ["FillingUp", []],
    ["", ["EnoughSpace"]],
  ]);
});

test("the message names no more than is used", () => {
  const pool: Pool = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "Pool", metadata: { name: "p" } },
    spec: { type: "xfs", nodeID: "n", path: "/p" },
  };
  const usage = { totalBytes: 2000, freeBytes: 290, promisedBytes: 0, thickBytes: 0 };
  const status = { ready: true, ...usage, conditions: openConditions(pool, usage, false, NOW) };
  assert.match(spaceLow({ ...pool, status })?.message ?? "", /^more than 85 % of the pool is used; /);
  const conditions = openConditions({ ...pool, status }, { ...usage, freeBytes: 310 }, false, NOW);
  const after = { ...pool, status: { ...status, conditions } };
  assert.match(spaceLow(after)?.message ?? "", /^more than 84 % of the pool is used; /);
});
