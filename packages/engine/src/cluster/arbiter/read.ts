import { defined, getIfAny, type Informer, type Reader } from "@mooring/store";
import type { VolumeAttachment } from "../../api/attachment.ts";
import { type NodeAgent, withoutHeartbeat } from "../../api/node-agent.ts";
import { canShutOut, isShared, type Pool, poolNodes, withoutUsage } from "../../api/pool.ts";
import type { ShareManager } from "../../api/share-manager.ts";
import { isServed, type Volume, Volumes } from "../../api/volume.ts";
import { belongsTo, getAttachment } from "../../tickets/attachment-object.ts";
import { findOwnersGone, ownerKinds } from "../../tickets/owners.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import type { KubernetesWatch } from "./kubernetes/watch.ts";
import type { ArbiterReading } from "./steps.ts";
import type { ArbiterView } from "./view.ts";

interface ArbiterSources {
  agents: Informer<NodeAgent>;
  pools: Informer<Pool>;
  shares: Informer<ShareManager>;
  /** Absent where there is no Kubernetes. */
  kubernetes: KubernetesWatch | undefined;
  now: () => Date;
  signal: AbortSignal;
}

/** `name`: of the Volume and of its VolumeAttachment. Undefined: there is neither. */
export async function readArbiter(
  sources: ArbiterSources,
  reader: Reader,
  name: string,
): Promise<ArbiterReading | undefined> {
  const volume = await getIfAny(reader.store, Volumes, { name }, sources.signal);
  const attachment = await getAttachment(reader.store, name, sources.signal);
  if (volume === undefined || (attachment !== undefined && !belongsTo(attachment, volume))) {
    return attachment && { left: attachment, lost: volume === undefined };
  }
  if (attachment === undefined) return { unmade: volume };
  return { view: await readAround(sources, reader, volume, attachment) };
}

/** Everything besides volume and tickets that a decision depends on. */
async function readAround(
  { agents, pools, shares, kubernetes, now, signal }: ArbiterSources,
  reader: Reader,
  volume: Volume,
  attachment: VolumeAttachment,
): Promise<ArbiterView> {
  const { name } = volume.metadata;
  const tickets = ticketsOf(attachment);
  const { nodeID = "", migrationNodeID = "" } = volume.spec;
  const { currentNodeID = "", currentMigrationNodeID = "" } = volume.status ?? {};
  const nodeIDs = [nodeID, migrationNodeID, currentNodeID, currentMigrationNodeID];
  const claims = await kubernetes?.claimsOf({ volume: name, tickets, nodeIDs }, reader, signal);
  const kinds = ownerKinds(kubernetes !== undefined);
  const ownersGone = await findOwnersGone(reader.store, tickets, kinds, signal);
  const pool = reader.over(pools, withoutUsage).get(volume.spec.pool);
  const sharedBy =
    pool !== undefined && isShared(pool) ? { sharedBy: poolNodes(pool), shutsOut: canShutOut(pool) } : {};
  const serving = isServed(volume) ? reader.over(shares).get(name) : undefined;
  const served = defined({ share: serving });
  const known = reader.over(agents, withoutHeartbeat).list();
  const nodes = new Map(known.map((agent) => [agent.metadata.name, agent]));
  const view = { volume, attachment, nodes, ...sharedBy, ...served, ownersGone, now: now() };
  return claims === undefined ? view : { ...view, claims };
}
