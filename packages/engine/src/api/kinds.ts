import type { KubeObject, Resource } from "@mooring/store";
import { VolumeAttachments } from "./attachment.ts";
import { GroupSnapshots } from "./group-snapshot.ts";
import { NodeAgents } from "./node-agent.ts";
import { Pools } from "./pool.ts";
import { RecurringJobs } from "./recurring-job.ts";
import { ShareManagers } from "./share-manager.ts";
import { Snapshots } from "./snapshot.ts";
import { Volumes } from "./volume.ts";
import { VolumeSets } from "./volume-set.ts";

/** Every kind that agents, the arbiter and the data services work on; each has a place for a status. */
export const ENGINE_KINDS: readonly Resource<KubeObject>[] = [
  Pools,
  NodeAgents,
  Volumes,
  VolumeAttachments,
  Snapshots,
  GroupSnapshots,
  VolumeSets,
  RecurringJobs,
  ShareManagers,
];
