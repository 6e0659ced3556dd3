import {
  type CronJob,
  CronJobs,
  keyOf,
  mutate,
  type ObjectStore,
  type PodTemplate,
  parseKey,
} from "@mooring/store";

const MINUTE_MS = 60_000;

/** The clock of CronJobs in a test, which moves on faster than time does. */
export class CronClock {
  readonly #store: ObjectStore;
  #aheadMs = 0;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Milliseconds since the epoch. */
  readonly now = (): number => Date.now() + this.#aheadMs;

  /** Minutes go by at once. The controller's timers run by real time, so a change of each CronJob asks for it. */
  async pass(minutes: number): Promise<void> {
    this.#aheadMs += minutes * MINUTE_MS;
    for (const cronJob of (await this.#store.list(CronJobs)).items) {
      await mutate(this.#store, CronJobs, parseKey(keyOf(cronJob)), ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, asked: String(this.#aheadMs) };
      });
    }
  }
}

/** One that replaces what still runs, or one that waits for it and may be late. */
export function cronJob(name: string, kind: "replaces" | "waits", podSpec: PodTemplate["spec"]): CronJob {
  const waits = { schedule: "*/2 * * * *", concurrencyPolicy: "Forbid", startingDeadlineSeconds: 90 };
  const replaces = { schedule: "* * * * *", concurrencyPolicy: "Replace" };
  const history = { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 };
  const jobTemplate = { spec: { template: { spec: podSpec } } };
  const spec = { ...(kind === "waits" ? waits : replaces), ...history, jobTemplate };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { namespace: "default", name },
    spec,
  } as CronJob;
}
