import { isDeleting, type Job, type Pod, type ReadContext, type WrittenCache } from "@mooring/store";
import { selects } from "../workloads/owners.ts";
import { type JobPod, jobPod } from "./job-pod.ts";
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
  const adoptable = job === undefined ? [] : adoptableFor(job, reader.over(pods, ownerless));
  const isOwn = ({ owner }: { owner: string | undefined }) =>
    owner !== undefined && owner === job?.metadata.uid;
  return {
    job,
    pods: found.filter(isOwn),
    // Of a Job of this name there was before, or of one that was deleted without its pods.
    orphans: found.filter(
      (pod) => pod.tracked && !isOwn(pod) && !adoptable.some(({ uid }) => uid === pod.uid),
    ),
    adoptable,
    now: clock(),
    backoff,
  };
}

interface Ownerless {
  pod: JobPod;
  metadata: Pick<Pod["metadata"], "name" | "labels">;
  isDeleting: boolean;
}

function ownerless(pod: Pod): Ownerless {
  const { name, labels = {} } = pod.metadata;
  return { pod: jobPod(pod), metadata: { name, labels }, isDeleting: isDeleting(pod) };
}

/** Also pods that have ended: as in Kubernetes they count, like all that the Job controls. */
function adoptableFor(
  job: Job,
  pods: { byIndex(index: string, key: string): readonly Ownerless[] },
): JobPod[] {
  return pods
    .byIndex("orphan", job.metadata.namespace ?? "")
    .filter(({ metadata, isDeleting }) => !isDeleting && selects(job, { ...ANY_POD, metadata }))
    .map(({ pod }) => pod);
}

const ANY_POD = { apiVersion: "v1", kind: "Pod" };
