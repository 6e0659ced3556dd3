import type { Outcome } from "@mooring/store";
import type { RecurringJob, RecurringJobStatus } from "../../../api/recurring-job.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";
import type { Schedule } from "./schedule.ts";

/** Everything that a decision about a job may depend on. */
export interface JobView {
  job: RecurringJob;
  /** Its members now. */
  members: readonly Volume[];
  /** The snapshots that it made, of whatever volume. */
  snapshots: readonly Snapshot[];
  /** Snapshots that something is being made from. */
  inUse: ReadonlySet<string>;
  schedule: Schedule;
  now: Date;
}

/** One visible change for a RecurringJob. */
export type JobStep =
  | Outcome
  | {
      do: "record";
      what: "run-begun" | "task" | "run-finished" | "moments-skipped" | "plan";
      status: RecurringJobStatus;
    }
  | { do: "create-snapshot"; volume: string }
  | { do: "delete-snapshot"; snapshot: string };
