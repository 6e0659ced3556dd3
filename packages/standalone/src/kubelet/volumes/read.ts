import {
  type Collection,
  type CSIDriver,
  defined,
  type Node,
  Nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type ReadContext,
} from "@mooring/store";
import type { ManagerContext } from "./context.ts";
import { expansionOf } from "./csi-volume.ts";
import { type CsiVolumeEntry, isEphemeral } from "./csi-volume-table.ts";
import type { CsiVolumeView } from "./decide.ts";

/** A volume on this node, as its table and the cluster say. */
export interface ReadCsiVolume extends CsiVolumeView {
  key: string;
  entry: CsiVolumeEntry;
}

/** What is read, from caches or through a reader. */
interface Caches {
  drivers: Collection<CSIDriver>;
  volumes: Collection<PersistentVolume>;
  claims: Collection<PersistentVolumeClaim>;
}

/** Everything that the decision about one volume may read. */
export async function readCsiVolume(
  context: ManagerContext,
  key: string,
  { reader }: ReadContext,
): Promise<ReadCsiVolume | undefined> {
  const { table, inUse, view } = context;
  const entry = table.get(key);
  if (entry === undefined) return undefined;
  const caches = {
    drivers: reader.over(view.drivers),
    volumes: reader.over(view.volumes),
    claims: reader.over(view.claims),
  };
  const wanted = entry.wants.size > 0;
  const attaches = needsAttach(caches, entry);
  return {
    ...{ key, entry },
    wantedBy: [...entry.wants.keys()],
    publications: [...entry.publications].map(([podUID, state]) => {
      const republishInMs = state === "yes" ? republicationOf(context, caches, entry, podUID) : undefined;
      return { podUID, state, inUse: !table.hasReleased(podUID), ...defined({ republishInMs }) };
    }),
    staged: entry.staged,
    stages: !isEphemeral(entry),
    needsAttach: attaches,
    reportedInUse: inUse.has(key),
    attached: entry.staged === "yes" || (wanted && attaches && (await isAttached(context, key, reader))),
    needsExpansion: wanted && pendingExpansion(caches, entry) !== undefined,
  };
}

/** Without a CSIDriver object a driver counts as one that must be asked. */
export function needsAttach({ drivers }: Pick<Caches, "drivers">, entry: CsiVolumeEntry): boolean {
  const { record } = entry;
  return !isEphemeral(entry) && drivers.get(record.driverName)?.spec?.attachRequired !== false;
}

/** Milliseconds until the driver wants to publish it again; undefined where it does not. */
function republicationOf(
  { republishMs }: ManagerContext,
  { drivers }: Pick<Caches, "drivers">,
  { record, publishedAt }: CsiVolumeEntry,
  podUID: string,
): number | undefined {
  if (drivers.get(record.driverName)?.spec?.requiresRepublish !== true) return undefined;
  return Math.max(0, (publishedAt.get(podUID) ?? 0) + republishMs - performance.now());
}

/** The size that the node's side of the volume is to grow to. */
export function pendingExpansion(
  { claims, volumes }: Pick<Caches, "claims" | "volumes">,
  { record, wants }: CsiVolumeEntry,
): bigint | undefined {
  if ([...wants.values()].every(({ readOnly }) => readOnly)) return undefined;
  const volume = volumes.get(record.specVolID);
  const reference = volume?.spec?.claimRef;
  return expansionOf(claims.get(`${reference?.namespace}/${reference?.name}`), volume);
}

async function isAttached(
  { view, nodeName, inUse, signal }: ManagerContext,
  key: string,
  reader: ReadContext["reader"],
): Promise<boolean> {
  const cached = reader.over(view.nodes, attachedTo).get(nodeName);
  if (!inUse.has(key) || cached?.volumes.includes(key) !== true) return false;
  // From the store, and after our own report: what the cache shows may be from before the last detach.
  const now = await reader.get(Nodes, { name: nodeName }, attachedTo, signal);
  return now?.volumes.includes(key) === true;
}

/** Of a node what the attach/detach controller writes: the rest changes with every heartbeat. */
function attachedTo({ status }: Node): { volumes: string[] } {
  return { volumes: (status?.volumesAttached ?? []).map(({ name }) => name) };
}
