import type { Job, Pod, ReadContext, WrittenCache } from "@mooring/store";
import { jobPod } from "./job-pod.ts";
import type { JobView } from "./view.ts";

interface JobReads {
  jobs: WrittenCache<Job>;
  /** Indexed by `job`. */
  pods: WrittenCache<Pod>;
  /** Milliseconds since the epoch. */
  clock: () => number;
  backoff: JobView["backoff"];
}

/** A Job and the pods that have its name on them. */
export async function readJob(
  key: string,
  { jobs, pods, clock, backoff }: JobReads,
  { reader, fresh, signal }: ReadContext,
): Promise<JobView | undefined> {
  if (fresh) await jobs.refresh(key, signal);
  const job = reader.over(jobs).get(key);
  const found = reader.over(pods, jobPod).byIndex("job", key);
  if (job === undefined && found.length === 0) return undefined;
  const isOwn = ({ owner }: { owner: string | undefined }) =>
    owner !== undefined && owner === job?.metadata.uid;
  return {
    job,
    pods: found.filter(isOwn),
    // Of a Job of this name there was before, or of one that was deleted without its pods.
    orphans: found.filter((pod) => pod.tracked && !isOwn(pod)),
    now: clock(),
    backoff,
  };
}
