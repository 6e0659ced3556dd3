import { createInformer, EventRecorder, type Logger, type ObjectStore } from "@mooring/store";
import { VolumeAttachments } from "../../api/attachment.ts";
import { GroupSnapshots } from "../../api/group-snapshot.ts";
import { DRIVER_NAME } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Pools } from "../../api/pool.ts";
import { RecurringJobs } from "../../api/recurring-job.ts";
import { ShareManagers } from "../../api/share-manager.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import { runAttachForSnapshot } from "./attach-for-snapshot/index.ts";
import { runClones } from "./clone/index.ts";
import type { ServiceInformers, ServicesContext } from "./context.ts";
import { runExpansions } from "./expansion/index.ts";
import { runGroupSnapshots } from "./group-snapshot/index.ts";
import { runRecurringJobs } from "./recurring-job/index.ts";
import { runRemounts } from "./remount/index.ts";
import { runRestores } from "./restore/index.ts";
import { runSalvages } from "./salvage/index.ts";
import { runShares } from "./share/index.ts";

/** What the data services are started with. */
export interface ServicesOptions {
  store: ObjectStore;
  logger: Logger;
  /** Stops the services; tickets stay as they are. */
  signal: AbortSignal;
  /** For tests; default the machine's clock. */
  now?: () => Date;
}

/** Data services that run. */
export interface Services {
  /** Settles when the last write is made. */
  readonly done: Promise<void>;
}

const CONTROLLERS: readonly ((context: ServicesContext) => Promise<void>)[] = [
  runAttachForSnapshot,
  runGroupSnapshots,
  runExpansions,
  runRestores,
  runSalvages,
  runClones,
  runRecurringJobs,
  runShares,
  runRemounts,
];

/**
 * The data services: each follows its objects and has volumes attached, through tickets, for as long as it needs them; one
 * leads group snapshots through their phases. One instance per cluster, beside the arbiter. Resolves when it has seen all
 * objects once.
 */
export async function startServices({ store, logger, signal, now }: ServicesOptions): Promise<Services> {
  const informers = createInformers(store, logger);
  const all = Object.values(informers);
  const events = new EventRecorder(store, { component: DRIVER_NAME, host: "data-services", logger });
  const context: ServicesContext = {
    ...{ store, logger, events, informers, signal },
    now: now ?? (() => new Date()),
  };
  const informing = all.map((informer) => informer.run(signal));
  const running = CONTROLLERS.map((run) => run(context));
  const done = Promise.all([...running, ...informing])
    .finally(() => events.flush())
    .then(() => {});
  await Promise.race([Promise.all(all.map((informer) => informer.synced(signal))), done]);
  return { done };
}

function createInformers(store: ObjectStore, logger: Logger): ServiceInformers {
  return {
    volumes: createInformer(store, Volumes, {
      logger,
      indexers: { source: ({ spec }) => (spec.source?.kind === "Volume" ? [spec.source.name] : []) },
    }),
    attachments: createInformer(store, VolumeAttachments, { logger }),
    groups: createInformer(store, GroupSnapshots, { logger }),
    pools: createInformer(store, Pools, { logger }),
    shares: createInformer(store, ShareManagers, { logger }),
    nodes: createInformer(store, NodeAgents, { logger }),
    jobs: createInformer(store, RecurringJobs, { logger }),
    snapshots: createInformer(store, Snapshots, {
      logger,
      indexers: { volume: ({ spec }) => [spec.volume] },
    }),
  };
}
