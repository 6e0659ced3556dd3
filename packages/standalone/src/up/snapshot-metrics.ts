import type { MetricFamily, MetricSample } from "@mooring/csi";
import type { Snapshot } from "@mooring/engine";

/** Upper bounds in seconds. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

type State = "ready" | "pending" | "failed";
const STATES: readonly State[] = ["ready", "pending", "failed"];

function stateOf({ status }: Snapshot): State {
  if (status?.readyToUse === true) return "ready";
  return status?.error === undefined ? "pending" : "failed";
}

interface Pool {
  failures: number;
  /** How many took at most `BUCKETS[i]` and longer than the bound before it; the last entry: longer than all. */
  readonly counts: number[];
  seconds: number;
}

/** How many snapshots there are, how long it takes to make them, and how often that fails. */
export class SnapshotMetrics {
  readonly #pools = new Map<string, Pool>();
  /** When those that are not ready were seen first, by UID. */
  readonly #begun = new Map<string, number>();
  readonly #passedMs: () => number;

  /** `passedMs`: a clock that nobody sets. */
  constructor(passedMs: () => number = () => performance.now()) {
    this.#passedMs = passedMs;
  }

  /** A change of a snapshot; `old` is undefined when it is new here, `current` when it is gone. */
  changed(old: Snapshot | undefined, current: Snapshot | undefined): void {
    const uid = (current ?? old)?.metadata.uid ?? "";
    if (current === undefined) {
      this.#begun.delete(uid);
      return;
    }
    const state = stateOf(current);
    const pool = this.#poolOf(current.spec.pool);
    if (state === "failed" && old !== undefined && stateOf(old) !== "failed") pool.failures += 1;
    const begun = this.#begun.get(uid);
    if (state !== "ready") {
      if (begun === undefined) this.#begun.set(uid, this.#passedMs());
      return;
    }
    this.#begun.delete(uid);
    if (begun !== undefined) took(pool, (this.#passedMs() - begun) / 1000);
  }

  /** Of those that are there now, and of all changes since the process began. */
  families(snapshots: readonly Snapshot[]): MetricFamily[] {
    for (const { spec } of snapshots) this.#poolOf(spec.pool);
    const pools = [...this.#pools];
    return [
      {
        ...{ name: "mooring_snapshots", help: "Snapshots, by their state.", type: "gauge" },
        samples: pools.flatMap(([pool]) => statesOf(pool, snapshots)),
      },
      {
        name: "mooring_snapshot_failures_total",
        help: "Snapshots that could not be made at a first try.",
        type: "counter",
        samples: pools.map(([pool, { failures }]) => ({ labels: { pool }, value: failures })),
      },
      {
        name: "mooring_snapshot_duration_seconds",
        help: "From the request of a snapshot to its readiness.",
        type: "histogram",
        samples: pools.flatMap(([pool, durations]) => histogram({ pool }, durations)),
      },
    ];
  }

  #poolOf(name: string): Pool {
    const found = this.#pools.get(name);
    if (found !== undefined) return found;
    const pool = { failures: 0, counts: new Array<number>(BUCKETS.length + 1).fill(0), seconds: 0 };
    this.#pools.set(name, pool);
    return pool;
  }
}

function statesOf(pool: string, snapshots: readonly Snapshot[]): MetricSample[] {
  const states = snapshots.filter(({ spec }) => spec.pool === pool).map(stateOf);
  return STATES.map((state) => ({
    labels: { pool, state },
    value: states.filter((each) => each === state).length,
  }));
}

function took(pool: Pool, seconds: number): void {
  const index = BUCKETS.findIndex((bound) => seconds <= bound);
  const bucket = index < 0 ? BUCKETS.length : index;
  pool.counts[bucket] = (pool.counts[bucket] ?? 0) + 1;
  pool.seconds += seconds;
}

/** A histogram's buckets each include all smaller ones. */
function histogram(labels: { pool: string }, { counts, seconds }: Pool): MetricSample[] {
  let count = 0;
  const buckets = counts.map((each, index) => {
    count += each;
    return { suffix: "_bucket", labels: { ...labels, le: String(BUCKETS[index] ?? "+Inf") }, value: count };
  });
  return [...buckets, { suffix: "_sum", labels, value: seconds }, { suffix: "_count", labels, value: count }];
}
