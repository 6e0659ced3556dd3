import type { EventRecorder, ObjectStore, VolumeGroupSnapshot, VolumeSnapshot } from "@mooring/store";
import type { ObjectCache } from "../kube/cache.ts";
import { patchStatus } from "../kube/patch.ts";

/** What users ask with. The controllers of both kinds write and report the same of it. */
type AskedSnapshot = VolumeSnapshot | VolumeGroupSnapshot;

/** Emits the events of one kind, in the words that snapshot-controller has for them. */
export class SnapshotEvents<Reason extends string> {
  readonly #events: EventRecorder;
  readonly #kind: "Snapshot" | "GroupSnapshot";

  constructor(events: EventRecorder, kind: "Snapshot" | "GroupSnapshot") {
    this.#events = events;
    this.#kind = kind;
  }

  creating(object: AskedSnapshot): void {
    const what = this.#kind === "Snapshot" ? "snapshot" : "group snapshot";
    this.#events.event(
      object,
      "Normal",
      `Creating${this.#kind}`,
      `Waiting for a ${what} ${nameOf(object)} to be created by the CSI driver.`,
    );
  }

  /** `SnapshotCreated` and `SnapshotReady`, or those of groups. What comes at once is one event: the last one says both. */
  reached(object: AskedSnapshot, reasons: readonly Reason[]): void {
    const last = reasons.at(-1);
    if (last === undefined) return;
    const what = reasons.map((reason) =>
      reason.endsWith("Ready") ? "is ready to use" : "was successfully created by the CSI driver",
    );
    this.#events.event(object, "Normal", last, `${this.#kind} ${nameOf(object)} ${what.join(" and ")}.`);
  }
}

const nameOf = ({ metadata }: AskedSnapshot): string => `${metadata.namespace}/${metadata.name}`;

/** Replaces the status; an error that it does not have goes. */
export async function writeSnapshotStatus<T extends AskedSnapshot>(
  store: ObjectStore,
  cache: ObjectCache<T>,
  object: T,
  status: NonNullable<T["status"]>,
): Promise<void> {
  await patchStatus(store, cache, object, { ...status, error: status.error ?? null });
}

/** Only what an operator can do something about is written down, and once. */
export async function writeSnapshotError<T extends AskedSnapshot>(
  store: ObjectStore,
  cache: ObjectCache<T>,
  object: T,
  error: { message: string; time: string; readyToUse: boolean },
): Promise<void> {
  if (object.status?.error?.message === error.message) return;
  const { readyToUse, ...problem } = error;
  await patchStatus(store, cache, object, { ...object.status, readyToUse, error: problem });
}
