import assert from "node:assert/strict";
import { test } from "node:test";
import { resourcesOf } from "./resources.ts";

test("a processor limit is a quota of time, and one of 0 is none", () => {
  assert.deepEqual(resourcesOf({ cpuLimitMilli: 250 }, []).cpu, { quota: 25_000, period: 100_000 });
  assert.equal(resourcesOf({ cpuLimitMilli: 0 }, []).cpu, undefined);
  assert.deepEqual(resourcesOf({ cpuLimitMilli: 0, cpuRequestMilli: 500 }, []).cpu, { shares: 512 });
});

test("limits beyond what the kernel and runc can read are as good as none", () => {
  const { cpu, memory } = resourcesOf({ memoryBytes: 16e18, cpuLimitMilli: 1e21, cpuRequestMilli: 1e15 }, []);
  assert.deepEqual(memory, { limit: Number.MAX_SAFE_INTEGER });
  assert.deepEqual(cpu, { shares: 262_144, quota: 2 ** 40, period: 100_000 });
});
