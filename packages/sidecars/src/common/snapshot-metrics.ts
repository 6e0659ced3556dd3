import { Histogram, type MetricFamily } from "@mooring/csi";
import type { VolumeGroupSnapshot, VolumeSnapshot } from "@mooring/store";
import { isDeleting } from "@mooring/store";

/** Upper bounds in seconds: those that snapshot-controller has. */
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600];

/** The three operations on one kind, as snapshot-controller counts them. */
type Operation = "create" | "ready" | "delete";
type Labels = Readonly<Record<string, string>>;

interface Running {
  labels: Labels;
  /** Milliseconds on a monotonic clock. */
  since: number;
}

/** Of this process, of all its drivers: those under way, by UID and operation, and how long those took that have ended. */
const running = new Map<string, Running>();
const took = new Map<string, { labels: Labels; durations: Histogram }>();

/**
 * What a controller of one kind does for its objects, under the names of snapshot-controller. Each operation is counted from the
 * first step on that this process makes for it; of one that an earlier life has begun nobody knows how long it took.
 */
export class SnapshotOperations<T extends VolumeSnapshot | VolumeGroupSnapshot> {
  readonly #names: Readonly<Record<Operation, string>>;
  readonly #driver: string;

  constructor(kind: "Snapshot" | "GroupSnapshot", driver: string) {
    this.#names = { create: `Create${kind}`, ready: `Create${kind}AndReady`, delete: `Delete${kind}` };
    this.#driver = driver;
  }

  /** A step is about to be made for the object. `waits`: its deletion cannot begin yet. */
  step(object: T, { waits }: { waits: boolean }): void {
    if (isDeleting(object)) {
      if (!waits) this.#begin("delete", object);
      return;
    }
    if (object.status?.readyToUse === true) return;
    // Data that exist are made by nobody.
    if (!isImported(object) && object.status?.creationTime === undefined) this.#begin("create", object);
    this.#begin("ready", object);
  }

  /** `SnapshotCreated` and `SnapshotReady`, or those of groups, have been reported. */
  reached(object: T, events: readonly string[]): void {
    for (const event of events) this.#end(event.endsWith("Ready") ? "ready" : "create", object, "success");
  }

  /** The object has lost its finalizers: what was not finished by then never will be. */
  released(object: T): void {
    this.#end("delete", object, "success");
    this.#end("create", object, "cancel");
    this.#end("ready", object, "cancel");
  }

  /** The object is gone, whatever was under way for it. */
  forget(uid: string): void {
    for (const of of ["create", "ready", "delete"] as const) running.delete(this.#key(of, uid));
  }

  #begin(of: Operation, object: T): void {
    const key = this.#key(of, object.metadata.uid);
    if (running.has(key)) return;
    const labels = {
      ...{ driver_name: this.#driver, operation_name: this.#names[of] },
      snapshot_type: isImported(object) ? "pre-provisioned" : "dynamic",
    };
    running.set(key, { labels, since: performance.now() });
  }

  #end(of: Operation, { metadata }: T, status: "success" | "cancel"): void {
    const key = this.#key(of, metadata.uid);
    const begun = running.get(key);
    if (begun === undefined) return;
    running.delete(key);
    const labels = { ...begun.labels, operation_status: status };
    const name = JSON.stringify(labels);
    const series = took.get(name) ?? { labels, durations: new Histogram(BUCKETS) };
    took.set(name, series);
    series.durations.took((performance.now() - begun.since) / 1000);
  }

  #key(of: Operation, uid = ""): string {
    return `${this.#names[of]} ${uid}`;
  }
}

function isImported({ spec: { source } }: VolumeSnapshot | VolumeGroupSnapshot): boolean {
  return "volumeSnapshotContentName" in source
    ? source.volumeSnapshotContentName !== undefined
    : "volumeGroupSnapshotContentName" in source && source.volumeGroupSnapshotContentName !== undefined;
}

/** What became of snapshots and groups of them, by the names that dashboards of snapshot-controller ask for. */
export const snapshotMetrics = (): MetricFamily[] => [
  {
    ...{ name: "snapshot_controller_operation_total_seconds", type: "histogram" as const },
    help: "Total number of seconds spent by the controller on an operation.",
    samples: [...took.values()].flatMap(({ labels, durations }) => durations.samples(labels)),
  },
  {
    ...{ name: "snapshot_controller_operations_in_flight", type: "gauge" as const },
    help: "Total number of operations in flight.",
    samples: [{ value: running.size }],
  },
];
