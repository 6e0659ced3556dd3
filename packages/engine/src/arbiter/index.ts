import {
  createInformer,
  type Logger,
  type ObjectStore,
  runController,
  source,
  WorkQueue,
} from "@mooring/store";
import { VolumeAttachments } from "../api/attachment.ts";
import { NodeAgents } from "../api/node-agent.ts";
import { Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";
import { reconcileVolume } from "./reconcile.ts";

export interface ArbiterOptions {
  store: ObjectStore;
  logger: Logger;
  /** Stops the arbiter; volumes stay where they are. */
  signal: AbortSignal;
  /** For tests; default the machine's clock. */
  now?: () => Date;
}

export interface Arbiter {
  /** Settles when the last decision is written. */
  readonly done: Promise<void>;
}

/**
 * Keeps one VolumeAttachment per Volume, decides from its tickets where the volume may be, writes that into the
 * Volume's spec and tells every ticket why it is or is not satisfied. Resolves when it has seen all objects once.
 */
export async function startArbiter({ store, logger, signal, now }: ArbiterOptions): Promise<Arbiter> {
  const volumes = createInformer(store, Volumes, { logger });
  const attachments = createInformer(store, VolumeAttachments, { logger });
  const agents = createInformer(store, NodeAgents, { logger });
  const snapshots = createInformer(store, Snapshots, { logger });
  const informers = [volumes, attachments, agents, snapshots];
  const running = informers.map((informer) => informer.run(signal));

  const nodes = () => new Map(agents.list().map((agent) => [agent.metadata.name, agent]));
  const queue = new WorkQueue();
  // Heartbeats change agents all the time; only a change of state can change a decision.
  agents.onChange((old, agent) => {
    if (old?.status?.state === agent?.status?.state) return;
    for (const volume of volumes.list()) queue.add(volume.metadata.name);
  });
  const controller = runController(
    {
      name: "arbiter",
      logger,
      queue,
      sources: [
        source(volumes, (volume) => [volume.metadata.name]),
        source(attachments, (attachment) => [attachment.metadata.name]),
        source(agents, () => []),
        // A snapshot may own a ticket of its volume, which ends when the snapshot does.
        source(snapshots, (snapshot) => [snapshot.spec.volume]),
      ],
      reconcile: (name, context) =>
        reconcileVolume({ store, name, nodes, now: now ?? (() => new Date()), signal: context.signal }),
    },
    signal,
  );
  const done = Promise.all([controller, ...running]).then(() => {});
  await Promise.race([Promise.all(informers.map((informer) => informer.synced(signal))), done]);
  return { done };
}
