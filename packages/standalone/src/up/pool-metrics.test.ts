import assert from "node:assert/strict";
import { test } from "node:test";
import { metricsText } from "@mooring/csi";
import type { Pool } from "@mooring/engine";
import { poolMetrics } from "./pool-metrics.ts";

test("metrics show how full a pool is, at which alert level, and whether its writers are suspended", () => {
  const on = (type: string, reason: string) =>
    ({ type, status: "True", reason, message: "", lastTransitionTime: "" }) as const;
  const pool = (name: string, conditions: ReturnType<typeof on>[]): Pool => ({
    ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Pool", metadata: { name } },
    spec: { type: "xfs", path: "/p" },
    status: { ready: true, totalBytes: 100, freeBytes: 4, promisedBytes: 300, conditions },
  });
  const full = pool("full", [
    on("SpaceLow", "AlmostFull"),
    on("WritersHeld", "PoolFull"),
    on("WritesFail", "PoolFull"),
  ]);
  const text = metricsText(poolMetrics([full, pool("fine", [])]));
  for (const line of [
    'mooring_pool_ready{pool="full"} 1',
    'mooring_pool_size_bytes{pool="full"} 100',
    'mooring_pool_free_bytes{pool="full"} 4',
    'mooring_pool_promised_bytes{pool="full"} 300',
    'mooring_pool_alert_level{pool="full"} 95',
    'mooring_pool_writers_held{pool="full"} 1',
    'mooring_pool_writes_fail{pool="full"} 1',
    'mooring_pool_writes_fail{pool="fine"} 0',
    'mooring_pool_alert_level{pool="fine"} 0',
    'mooring_pool_writers_held{pool="fine"} 0',
  ])
    assert.ok(text.split("\n").includes(line), line);
});
