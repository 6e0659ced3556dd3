import {
  createInformer,
  EventRecorder,
  type Informer,
  isDeleting,
  type KubeObject,
  type Logger,
  type ObjectStore,
  runController,
  source,
  WorkQueue,
} from "@mooring/store";
import { type VolumeAttachment, VolumeAttachments } from "../../api/attachment.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Pools } from "../../api/pool.ts";
import { ShareManagers } from "../../api/share-manager.ts";
import { Volumes } from "../../api/volume.ts";
import { KUBERNETES_OWNER } from "../../tickets/kubernetes-claim.ts";
import { OWNER_KINDS, ownerKey } from "../../tickets/owners.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import { KubernetesWatch } from "./kubernetes/watch.ts";
import { reconcileVolume } from "./reconcile.ts";

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

const DELETION_WAITS =
  "the tickets of a volume stay as long as the volume: this object goes when nobody holds a ticket, and is made again";

export interface Arbiter {
  /** Settles when the last decision is written. */
  readonly done: Promise<void>;
}

/**
 * Keeps one VolumeAttachment per Volume, decides from its tickets where the volume may be, writes that into the
 * Volume's spec and tells every ticket why it is or is not satisfied. Resolves when it has seen all objects once.
 */
export async function startArbiter(options: ArbiterOptions): Promise<Arbiter> {
  const { store, logger, signal, now = () => new Date() } = options;
  const kubernetes = options.kubernetes === true ? new KubernetesWatch(store, logger) : undefined;
  const volumes = createInformer(store, Volumes, { logger });
  const agents = createInformer(store, NodeAgents, { logger });
  const attachments = createInformer(store, VolumeAttachments, { logger, indexers: { owner: ownersOf } });
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

  const nodes = () => new Map(agents.list().map((agent) => [agent.metadata.name, agent]));
  const queue = new WorkQueue();
  // Heartbeats change agents all the time; only a change of state can change a decision.
  agents.onChange((old, agent) => {
    if (old?.status?.state === agent?.status?.state) return;
    for (const volume of volumes.list()) queue.add(volume.metadata.name);
  });
  // The same with what pools say of their space.
  pools.onChange((old, pool) => {
    if (old?.status?.nodes?.join() === pool?.status?.nodes?.join()) return;
    for (const volume of volumes.list()) queue.add(volume.metadata.name);
  });
  const owned = (key: string) => attachments.byIndex("owner", key).map(({ metadata }) => metadata.name);
  const ofKubernetes = (name: string) => owned(ownerKey({ ...KUBERNETES_OWNER, name }));
  const events = new EventRecorder(store, { component: "mooring-arbiter", logger });
  attachments.onChange((old, attachment) => {
    if (attachment === undefined || old === undefined) return;
    if (isDeleting(attachment) && !isDeleting(old))
      events.event(attachment, "Warning", "DeletionWaits", DELETION_WAITS);
  });
  const pool = (name: string) => pools.get(name);
  const share = (name: string) => shares.get(name);
  const reading = { store, nodes, pool, share, kubernetes, events, now };
  const controller = runController(
    {
      name: "arbiter",
      logger,
      queue,
      // Work begins when all of them have listed their objects: what was attached before is known by then.
      sources: [
        source(volumes, (volume) => [volume.metadata.name, ...owned(keyOfOwner(volume))]),
        source(attachments, (attachment) => [attachment.metadata.name]),
        source(agents, () => []),
        source(shares, (manager) => [manager.metadata.name]),
        source(pools, () => []),
        ...owners.map((informer) => source(informer, (object) => owned(keyOfOwner(object)))),
        ...(kubernetes?.sources(ofKubernetes) ?? []),
      ],
      reconcile: (name, context) => reconcileVolume({ ...reading, name, signal: context.signal }),
    },
    signal,
  );
  const done = Promise.all([controller, ...running]).then(() => events.flush());
  await Promise.race([Promise.all(informers.map((informer) => informer.synced(signal))), done]);
  return { done };
}

/** Watches of all kinds that may own a ticket, besides those that the arbiter watches anyway. */
function otherOwners(store: ObjectStore, logger: Logger): Informer<KubeObject>[] {
  const others = Object.values(OWNER_KINDS).filter((resource) => resource.kind !== Volumes.kind);
  return others.map((resource) => createInformer(store, resource, { logger }));
}

function ownersOf(attachment: VolumeAttachment): string[] {
  return ticketsOf(attachment).flatMap(({ owner }) => (owner === undefined ? [] : [ownerKey(owner)]));
}

function keyOfOwner({ apiVersion, kind, metadata }: KubeObject): string {
  const { name, namespace = "" } = metadata;
  return ownerKey({ apiVersion, kind, namespace, name });
}
