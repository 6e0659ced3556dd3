import type { EventRecorder, Informer, Logger, ObjectStore } from "@mooring/store";
import type { VolumeAttachment } from "../../api/attachment.ts";
import type { GroupSnapshot } from "../../api/group-snapshot.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import type { Pool } from "../../api/pool.ts";
import type { RecurringJob } from "../../api/recurring-job.ts";
import type { ShareManager } from "../../api/share-manager.ts";
import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";

/** What the data services watch; one set for all of them. */
export interface ServiceInformers {
  volumes: Informer<Volume>;
  attachments: Informer<VolumeAttachment>;
  snapshots: Informer<Snapshot>;
  jobs: Informer<RecurringJob>;
  groups: Informer<GroupSnapshot>;
  pools: Informer<Pool>;
  shares: Informer<ShareManager>;
  nodes: Informer<NodeAgent>;
}

/** What the data services share. They decide who needs a volume for what; nodes' agents do the work. */
export interface ServicesContext {
  store: ObjectStore;
  logger: Logger;
  events: EventRecorder;
  informers: ServiceInformers;
  now: () => Date;
  signal: AbortSignal;
}
