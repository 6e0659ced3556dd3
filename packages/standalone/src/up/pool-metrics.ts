import type { MetricFamily, MetricSample } from "@mooring/csi";
import { type Pool, spaceLow, writersHeldMessage, writesFailMessage } from "@mooring/engine";

/** The levels of `SpaceLow`, in percent. */
const LEVELS: Readonly<Record<string, number>> = { FillingUp: 85, AlmostFull: 95 };

/** What pools have, have left and have promised, in bytes, and whether an operator should look after them. */
export function poolMetrics(pools: readonly Pool[]): MetricFamily[] {
  const gauge = (name: string, help: string, value: (pool: Pool) => number | undefined): MetricFamily => ({
    name: `mooring_pool_${name}`,
    help,
    type: "gauge",
    samples: pools.flatMap((pool): MetricSample[] => {
      const number = value(pool);
      return number === undefined ? [] : [{ labels: { pool: pool.metadata.name }, value: number }];
    }),
  });
  return [
    gauge("ready", "1 while the pool is open, and its file system works.", ({ status }) =>
      status === undefined ? undefined : Number(status.ready),
    ),
    gauge("size_bytes", "Size of the pool.", ({ status }) => status?.totalBytes),
    gauge("free_bytes", "Bytes that volumes can still take.", ({ status }) => status?.freeBytes),
    gauge("promised_bytes", "Sizes of all volumes.", ({ status }) => status?.promisedBytes),
    gauge(
      "thick_bytes",
      "Sizes of thick volumes, whose room is set aside.",
      ({ status }) => status?.thickBytes,
    ),
    gauge("alert_level", "85 or 95 when more percent are used, else 0.", (pool) =>
      pool.status === undefined ? undefined : (LEVELS[spaceLow(pool)?.reason ?? ""] ?? 0),
    ),
    gauge("writers_held", "1 while the pool is full and its writers wait.", (pool) =>
      pool.status === undefined ? undefined : Number(writersHeldMessage(pool) !== undefined),
    ),
    gauge(
      "writes_fail",
      "1 while nothing is left in the pool and writes into its thin volumes fail.",
      (pool) => (pool.status === undefined ? undefined : Number(writesFailMessage(pool) !== undefined)),
    ),
  ];
}
