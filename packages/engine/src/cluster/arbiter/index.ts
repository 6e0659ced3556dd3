import {
  createInformer,
  EventRecorder,
  type Informer,
  isConflict,
  isDeleting,
  isNotFound,
  type KubeObject,
  type Logger,
  type ObjectStore,
  type Outcome,
  Reconciler,
  source,
  stepFailpoints,
} from "@mooring/store";
import { VolumeAttachments } from "../../api/attachment.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Pools } from "../../api/pool.ts";
import { ShareManagers } from "../../api/share-manager.ts";
import { Volumes } from "../../api/volume.ts";
import { OWNER_KINDS } from "../../tickets/owners.ts";
import { applyStep } from "./apply.ts";
import { KubernetesWatch } from "./kubernetes/watch.ts";
import { readArbiter } from "./read.ts";
import { type ArbiterReading, type ArbiterStep, nextStep } from "./steps.ts";

/** What an arbiter is started with. */
export interface ArbiterOptions {
  store: ObjectStore;
  logger: Logger;
  /**
   * The store has the kinds of Kubernetes: its VolumeAttachments of our driver own the tickets of CSI, and tickets that
   * are missing for one come back. Nothing is decided before all of them were read. Default false.
   */
  kubernetes?: boolean;
  /** Stops the arbiter; volumes stay where they are. */
  signal: AbortSignal;
  /** For tests; default the machine's clock. */
  now?: () => Date;
}

const failpoints = stepFailpoints<ArbiterStep>("engine/arbiter", {
  "make-attachment": true,
  "release-attachment": true,
  "edit-tickets": true,
  "record-results": true,
  "place-volume": true,
});

const DELETION_WAITS =
  "the tickets of a volume stay as long as the volume: this object goes when there is no ticket, and is made again";

/** An arbiter that decides. */
export interface Arbiter {
  /** Settles when the last decision is written. */
  readonly done: Promise<void>;
}

/**
 * Keeps one VolumeAttachment per Volume, decides from its tickets where the volume may be, writes that into the
 * Volume's spec and records for every ticket why it is or is not satisfied. Resolves when it has seen all objects once.
 */
export async function startArbiter(options: ArbiterOptions): Promise<Arbiter> {
  const { store, logger, signal, now = () => new Date() } = options;
  const kubernetes = options.kubernetes === true ? new KubernetesWatch(store, logger) : undefined;
  const volumes = createInformer(store, Volumes, { logger });
  const agents = createInformer(store, NodeAgents, { logger });
  const attachments = createInformer(store, VolumeAttachments, { logger });
  const owners = otherOwners(store, logger);
  const pools = createInformer(store, Pools, { logger });
  const shares = createInformer(store, ShareManagers, { logger });
  const informers = [
    volumes,
    attachments,
    agents,
    pools,
    shares,
    ...owners,
    ...(kubernetes?.informers ?? []),
  ];
  const running = informers.map((informer) => informer.run(signal));

  const events = new EventRecorder(store, { component: "mooring-arbiter", logger });
  attachments.onChange((old, attachment) => {
    if (attachment === undefined || old === undefined) return;
    if (!isDeleting(attachment) || isDeleting(old)) return;
    // With its volume it goes as it should.
    const volume = volumes.get(attachment.metadata.name);
    if (volume !== undefined && !isDeleting(volume))
      events.event(attachment, "Warning", "DeletionWaits", DELETION_WAITS);
  });
  const sources = { agents, pools, shares, kubernetes, now, signal };
  const controller = new Reconciler<ArbiterReading, ArbiterStep | Outcome>({
    ...{ name: "arbiter", store, logger, failpoints },
    sources: [
      source(volumes, ({ metadata }) => [metadata.name]),
      source(attachments, ({ metadata }) => [metadata.name]),
    ],
    // Work begins when all of them have listed their objects: what was attached before is known by then.
    watched: informers,
    read: (name, { reader }) => readArbiter(sources, reader, name),
    decide: nextStep,
    apply: (step) => applyStep({ store, events, signal }, step),
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  }).run(signal);
  const done = Promise.all([controller, ...running]).then(() => events.flush());
  await Promise.race([Promise.all(informers.map((informer) => informer.synced(signal))), done]);
  return { done };
}

/** Watches of all kinds that may own a ticket, besides those that the arbiter watches anyway. */
function otherOwners(store: ObjectStore, logger: Logger): Informer<KubeObject>[] {
  const others = Object.values(OWNER_KINDS).filter((resource) => resource.kind !== Volumes.kind);
  return others.map((resource) => createInformer(store, resource, { logger }));
}
