import { Histogram, type MetricFamily, type MetricSample } from "@mooring/csi";
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
  readonly durations: Histogram;
}

/** How many snapshots there are, how long it takes to make them, and how often that fails. */
export class SnapshotMetrics {
  readonly #pools = new Map<string, Pool>();
  /** When those that are not ready were seen first, by UID. */
  readonly #begun = new Map<string, number>();
  readonly #passedMs: () => number;

  /** `passedMs`: a clock that an operator cannot set. */
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
    if (begun !== undefined) pool.durations.took((this.#passedMs() - begun) / 1000);
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
        samples: pools.flatMap(([pool, { durations }]) => durations.samples({ pool })),
      },
    ];
  }

  #poolOf(name: string): Pool {
    const found = this.#pools.get(name);
    if (found !== undefined) return found;
    const pool = { failures: 0, durations: new Histogram(BUCKETS) };
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
