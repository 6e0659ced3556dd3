import { readFile } from "node:fs/promises";
import { CsiError } from "@mooring/csi";
import { type MountEntry, refusalOf, ShareManagers, sharePath, type Volume } from "@mooring/engine";
import { getIfAny } from "@mooring/store";
import { bindFlagsAmong } from "../request/mount-flags.ts";
import type { NodeContext } from "./context.ts";

/** Where this node gets a served volume from. */
export type ShareSource =
  /** Over the network, from another node. */
  | { from: "network"; address: string; port: string; export: string }
  /** The served file system itself, on the node that serves it. */
  | { from: "here"; path: string };

const ENDPOINT = /^nfs:\/\/([0-9.]+):([0-9]{1,5})(\/v-[a-z0-9-]{1,120})$/;

/**
 * The serving node has the file system at hand; the others come over NFS, if their kernel can. Throws UNAVAILABLE while no node serves the volume, FAILED_PRECONDITION where this node cannot use it.
 */
export async function shareSource(
  node: NodeContext,
  volume: Volume,
  signal: AbortSignal,
): Promise<ShareSource> {
  const { name } = volume.metadata;
  const share = await getIfAny(node.store, ShareManagers, { name }, signal);
  const { state, nodeID, endpoint = "", error } = share?.status ?? {};
  if (state === "running" && nodeID === node.nodeID)
    return { from: "here", path: sharePath(node.stateDir, name) };
  const refusal = refusalOf(share, node.nodeID);
  if (refusal !== undefined) {
    throw CsiError.failedPrecondition(`volume "${name}" is not shared: ${refusal.message}`, {
      hint: `Do that, or run the workload on node "${nodeID}".`,
    });
  }
  const served = endpointOf(endpoint);
  if (state !== "running" || served === undefined) {
    const why = error === undefined ? (state ?? "not asked for") : error.message;
    throw CsiError.unavailable(`volume "${name}" is not served yet: ${why}`, {
      hint: "Call ControllerPublishVolume for this node first, or repeat the call.",
    });
  }
  if (await supportsNfs(node)) return { from: "network", ...served };
  throw CsiError.failedPrecondition(
    `the kernel of node "${node.nodeID}" cannot mount NFS, and volume "${name}" is served by node "${nodeID}"`,
    { hint: `Use a kernel with the module nfsv4, or run the workload on node "${nodeID}".` },
  );
}

/** What `nfs://10.0.0.5:20490/v-p-1` names; undefined for anything else. */
export function endpointOf(endpoint: string): { address: string; port: string; export: string } | undefined {
  const [, address, port, path] = ENDPOINT.exec(endpoint) ?? [];
  if (address === undefined || port === undefined || path === undefined) return undefined;
  return { address, port, export: path };
}

async function supportsNfs({ host }: NodeContext): Promise<boolean> {
  if (await isLoaded()) return true;
  // A machine without modules, or without this one, fails in its own way.
  await host.exec.try("modprobe", ["nfsv4"]).catch(() => undefined);
  return isLoaded();
}

async function isLoaded(): Promise<boolean> {
  return (await readFile("/proc/filesystems", "utf8")).split(/\s+/).includes("nfs4");
}

/**
 * What every client of a share mounts it with.
 * `hard`: programs wait for a server that is being started again, or moved, and lose nothing. `noresvport`: their
 * connection comes back by itself through whatever is between the nodes.
 */
export function shareMountOptions(port: string): string[] {
  return ["vers=4.1", "proto=tcp", `port=${port}`, "hard", "noresvport"];
}

/** Puts the share, or on the serving node its file system, at `path`. Flags that only a network mount has are for those. */
export async function mountShare(
  { host }: NodeContext,
  source: ShareSource,
  { path, readOnly, flags }: { path: string; readOnly: boolean; flags: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  if (source.from === "here") {
    await host.mounts.bind(source.path, path, { readOnly, flags: bindFlagsAmong(flags) }, signal);
    return;
  }
  const { address, port, export: exported } = source;
  const options = [...shareMountOptions(port), ...flags, ...(readOnly ? ["ro"] : [])];
  await host.mounts.mount(
    { source: `${address}:${exported}`, target: path, fsType: "nfs4", options },
    signal,
  );
}

/** Mounted over the network, from whichever node served the volume then. */
export function isMountOfShare(volumeId: string, { fsType, source }: MountEntry): boolean {
  return fsType.startsWith("nfs") && source.endsWith(`:/${volumeId}`);
}
