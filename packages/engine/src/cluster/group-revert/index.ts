import {
  createInformer,
  EventRecorder,
  keyOf,
  type Logger,
  type ObjectStore,
  type Outcome,
  PersistentVolumes,
  Reconciler,
  source,
  stepFailpoints,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { VolumeAttachments } from "../../api/attachment.ts";
import { VolumeGroupReverts } from "../../api/group-revert.ts";
import { DRIVER_NAME } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import { applyRevertStep } from "./apply.ts";
import type { RevertContext, RevertInformers } from "./context.ts";
import { decide } from "./decide.ts";
import { readRevert } from "./read.ts";
import type { RevertStep, RevertView } from "./view.ts";

const failpoints = stepFailpoints<RevertStep>("engine/group-revert", {
  "add-finalizer": true,
  record: true,
  request: true,
  commit: true,
  order: true,
  release: true,
  "remove-finalizer": true,
});

/** What the controller of reverts is started with. */
export interface GroupRevertOptions {
  store: ObjectStore;
  logger: Logger;
  signal: AbortSignal;
  /** For tests; default the machine's clock. */
  now?: () => Date;
}

/**
 * Puts groups of volumes back in place, see {@link VolumeGroupReverts}. One instance per cluster, beside the arbiter and
 * the data services, which write the members' tickets. Begins when it has seen all objects once; the caller does not wait
 * for that, since a cluster may have no group snapshots at all.
 */
export function startGroupReverts(options: GroupRevertOptions): { done: Promise<void> } {
  const { store, logger, signal, now = () => new Date() } = options;
  const informers = createInformers(store, logger);
  const { reverts, ...watched } = informers;
  const events = new EventRecorder(store, { component: DRIVER_NAME, host: "group-revert", logger });
  const context: RevertContext = { store, logger, events, informers, now, signal };
  const informing = Object.values(informers).map((informer) => informer.run(signal));
  const reconciler = new Reconciler<RevertView, RevertStep | Outcome>({
    name: "group-revert",
    ...{ store, logger },
    failpoints,
    // See `rivalOf`. All that takes long is done by others.
    concurrency: 1,
    sources: [source(reverts, (revert) => [keyOf(revert)])],
    watched: Object.values(watched),
    read: (key, { reader }) => readRevert(context, reader, key),
    decide,
    apply: (step, view) => applyRevertStep(context, step, view),
  });
  const running = reconciler.run(signal);
  const done = Promise.all([running, ...informing])
    .finally(() => events.flush())
    .then(() => {});
  return { done };
}

function createInformers(store: ObjectStore, logger: Logger): RevertInformers {
  return {
    reverts: createInformer(store, VolumeGroupReverts, { logger }),
    groups: createInformer(store, VolumeGroupSnapshots, { logger }),
    contents: createInformer(store, VolumeGroupSnapshotContents, { logger }),
    volumes: createInformer(store, Volumes, { logger }),
    attachments: createInformer(store, VolumeAttachments, { logger }),
    snapshots: createInformer(store, Snapshots, { logger }),
    nodes: createInformer(store, NodeAgents, { logger }),
    pvs: createInformer(store, PersistentVolumes, {
      logger,
      indexers: {
        handle: ({ spec }) => (spec?.csi?.driver === DRIVER_NAME ? [spec.csi.volumeHandle] : []),
      },
    }),
  };
}
