import {
  defined,
  getIfAny,
  keyOf,
  type PersistentVolume,
  type Reader,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { type RevertMember, type VolumeGroupRevert, VolumeGroupReverts } from "../../api/group-revert.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { getAttachment } from "../../tickets/attachment-object.ts";
import { isAttachedTo } from "../../tickets/exposure.ts";
import { ticketIdFor } from "../../tickets/ticket-id.ts";
import { ticketStatus } from "../../tickets/tickets.ts";
import type { RevertContext } from "./context.ts";
import { podsByClaim, usersOf } from "./users.ts";
import { isFinished, type MemberView, type RevertView, type SourceView } from "./view.ts";

/** Undefined: the revert is gone. What decides is read from the store itself, never from a cache that may be late. */
export async function readRevert(
  context: RevertContext,
  reader: Reader,
  key: string,
): Promise<RevertView | undefined> {
  const [namespace = "", name = ""] = key.split("/");
  const revert = await getIfAny(reader.store, VolumeGroupReverts, { namespace, name }, context.signal);
  if (revert === undefined) return undefined;
  const planned = revert.status?.members;
  const requesting = !isFinished(revert) && revert.status?.phase === "Holding";
  const pods = requesting
    ? await podsByClaim(context.store, namespace, planned ?? [])
    : new Map<string, string[]>();
  const members = await Promise.all(
    (planned ?? []).map((member) => readMember(context, reader, member, pods.get(member.claim) ?? [])),
  );
  const source =
    planned === undefined && !isFinished(revert) ? await readSource(context, reader, revert) : undefined;
  return {
    ...{ revert, members, now: context.now() },
    ...defined({ source }),
    rival: await rivalOf(context, reader, revert),
  };
}

const ready = ({ status }: NodeAgent): boolean => status?.state === "Ready";

async function readMember(
  { informers, signal }: RevertContext,
  reader: Reader,
  member: RevertMember,
  pods: readonly string[],
): Promise<MemberView> {
  const [object, image, attachment] = await Promise.all([
    getIfAny(reader.store, Volumes, { name: member.volume }, signal),
    getIfAny(reader.store, Snapshots, { name: member.snapshot }, signal),
    getAttachment(reader.store, member.volume, signal),
  ]);
  const ticket = ticketIdFor("volume-restore-controller", member.volume);
  const nodeID = object?.status?.currentNodeID ?? "";
  const away = nodeID !== "" && reader.over(informers.nodes, ready).get(nodeID) !== true;
  const satisfied = attachment !== undefined && ticketStatus(attachment, ticket)?.satisfied === true;
  const held = object !== undefined && satisfied && !away && isHidden(object, nodeID);
  const users = held ? [] : usersOf(attachment, ticket, pods);
  const absent = away ? [`node ${nodeID}, which is not ready`] : [];
  return { ...member, object, image, held, users: [...users, ...absent] };
}

/** On the node, and where no workload can reach it. */
function isHidden(volume: Volume, nodeID: string): boolean {
  const { spec, status } = volume;
  return isAttachedTo(volume, nodeID) && spec.disableFrontend === true && status?.frontendDisabled === true;
}

async function readSource(
  { informers, signal }: RevertContext,
  reader: Reader,
  { metadata, spec }: VolumeGroupRevert,
): Promise<SourceView> {
  const { namespace = "" } = metadata;
  const { store } = reader;
  const name = spec.source.volumeGroupSnapshotName;
  const groupSnapshot = await getIfAny(store, VolumeGroupSnapshots, { namespace, name }, signal);
  const bound = groupSnapshot?.status?.boundVolumeGroupSnapshotContentName;
  const content =
    bound === undefined
      ? undefined
      : await getIfAny(store, VolumeGroupSnapshotContents, { name: bound }, signal);
  const claims = new Map<string, { namespace: string; name: string }>();
  for (const { volumeHandle = "" } of content?.status?.volumeSnapshotInfoList ?? []) {
    const [claim] = reader.over(informers.pvs, claimOf).byIndex("handle", volumeHandle);
    if (claim !== undefined) claims.set(volumeHandle, claim);
  }
  return { groupSnapshot, content, claims };
}

function claimOf({ spec }: PersistentVolume): { namespace: string; name: string } {
  const { namespace = "", name = "" } = spec?.claimRef ?? {};
  return { namespace, name };
}

interface Contender {
  key: string;
  /** Older ones come first. */
  order: string;
  volumes: string[];
}

/** One that has volumes and is not finished; undefined otherwise. */
function contender(revert: VolumeGroupRevert): Contender | undefined {
  const { metadata, status } = revert;
  if (isFinished(revert) || status?.members === undefined) return undefined;
  // A revert that is at it already goes on, whatever its age.
  const rank = status.phase === "Waiting" ? 1 : 0;
  const order = `${rank} ${metadata.creationTimestamp ?? ""} ${metadata.uid ?? ""}`;
  return { key: keyOf(revert), order, volumes: status.members.map(({ volume }) => volume) };
}

/** One revert is worked on at a time, so what it reads here is what the others have decided. */
async function rivalOf(
  { signal }: RevertContext,
  reader: Reader,
  revert: VolumeGroupRevert,
): Promise<RevertView["rival"]> {
  const own = contender(revert);
  if (own === undefined || revert.status?.phase !== "Waiting") return undefined;
  const { items } = await reader.store.list(VolumeGroupReverts, { signal });
  for (const other of items.map(contender)) {
    if (other === undefined || other.key === own.key || other.order > own.order) continue;
    const volume = own.volumes.find((each) => other.volumes.includes(each));
    if (volume !== undefined) return { name: other.key, volume };
  }
  return undefined;
}
