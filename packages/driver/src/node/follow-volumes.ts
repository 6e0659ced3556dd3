import { isDeepStrictEqual } from "node:util";
import { type Volume, Volumes } from "@mooring/engine";
import { createInformer } from "@mooring/store";
import { findVolume } from "../objects/find.ts";
import type { NodeContext } from "./context.ts";
import { LostServers } from "./lost-servers.ts";
import { removeTarget } from "./mount-points.ts";
import { isMounted } from "./published.ts";
import type { NodeRecord } from "./records.ts";
import { Retuner } from "./retuner.ts";

/**
 * Follows volumes that were used here, until the signal aborts: forgets those that do not exist any more, puts mutable
 * parameters into effect that the controller, which is another process, has recorded for those that are staged, and ends what
 * waits for a server that a volume does not have any more.
 */
export async function followVolumes(node: NodeContext, signal: AbortSignal): Promise<void> {
  const forget = (name: string): Promise<void> =>
    forgetGone(node, name, signal).catch((error: unknown) => {
      if (!signal.aborted) node.logger.warn({ err: error, volume: name }, "cannot forget a deleted volume");
    });
  const retuner = new Retuner(node, signal);
  const lost = new LostServers(node, signal);
  const volumes = createInformer(node.store, Volumes, { transform: whatIsFollowed, logger: node.logger });
  volumes.onChange((old, current) => {
    if (old === undefined) return;
    const { name, uid } = old.metadata;
    if (uid !== current?.metadata.uid) void forget(name);
    else if (!isDeepStrictEqual(old.spec, current?.spec)) void retuner.changed(name);
    if (!isDeepStrictEqual(old.status, current?.status)) void lost.changed(name);
  });
  const watching = volumes.run(signal);
  try {
    await volumes.synced(signal);
    // What happened while this process did not watch, or just before a kill.
    for (const name of await node.records.list()) {
      await forget(name);
      void retuner.changed(name);
      void lost.changed(name);
    }
  } catch (error) {
    if (!signal.aborted) node.logger.warn({ err: error }, "cannot find what has become of staged volumes");
  }
  await watching;
}

/** Nothing else is read: with thousands of volumes in a cluster, a node should not have all of them in memory. */
function whatIsFollowed({ apiVersion, kind, metadata, spec, status }: Volume): Volume {
  const { name, uid = "", resourceVersion = "" } = metadata;
  const { mutableParameters } = spec;
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion },
    spec: { mutableParameters },
    status: { remountRequestedAt: status?.remountRequestedAt },
  } as Volume;
}

/**
 * A caller that detaches and deletes a volume without unstaging it is not stopped where nothing is mounted, as with a staged
 * block volume; its record would stay for ever. A volume that is mounted here cannot be deleted, but the state can be put back to
 * one that does not know it: what is mounted keeps its record, by which the kubelet has it unmounted.
 */
async function forgetGone(node: NodeContext, name: string, signal: AbortSignal): Promise<void> {
  const isGood = async (record: NodeRecord): Promise<boolean> => {
    const { volumeUID } = record;
    const volume = await findVolume(node.store, name, signal);
    const isIts = volume !== undefined && (volumeUID === undefined || volume.metadata.uid === volumeUID);
    return isIts || (await isMounted(node, record));
  };
  const record = await node.records.forget(name, isGood);
  if (record === undefined) return;
  const made = Object.entries(record.published).flatMap(([path, use]) => (use.made ? [path] : []));
  if (record.staged?.made === true) made.push(record.staged.path);
  // One that a kubelet has put to use meanwhile is not empty, or busy.
  for (const path of made) await removeTarget(path).catch(() => {});
}
