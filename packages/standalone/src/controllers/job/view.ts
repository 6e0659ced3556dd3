import type { Job } from "@mooring/store";
import type { JobPod } from "./job-pod.ts";

/** Everything that the next step for a Job depends on. */
export interface JobView {
  /** Undefined: it is gone, and may have left pods. */
  job: Job | undefined;
  /** Those that it controls. */
  pods: readonly JobPod[];
  /** Those that wait to be released by a Job that is gone. */
  orphans: readonly JobPod[];
  /** Those that have no controller, and that its selector matches. */
  adoptable: readonly JobPod[];
  /** Milliseconds since the epoch. */
  now: number;
  /** Milliseconds from a failure to the next pod: doubled with every failure up to `maxMs`. */
  backoff: { baseMs: number; maxMs: number };
}
