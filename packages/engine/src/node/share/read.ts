import { access } from "node:fs/promises";
import { getIfAny, type ObjectStore } from "@mooring/store";
import { type ShareManager, ShareManagers } from "../../api/share-manager.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { LoopDevice } from "../../host/host.ts";
import { checkImageId, isImageId } from "../../pools/image-id.ts";
import type { AgentContext } from "../context.ts";
import { chooseAddress } from "./address.ts";
import { type Admission, admission, type ShareUser, usersOf, withLastAddress } from "./clients.ts";
import { recordedClients, recordedNodes, recordedSocket, type ServerSocket } from "./config.ts";
import type { ShareView } from "./decide.ts";
import { type ShareLayout, shareLayout } from "./layout.ts";
import { findPlace } from "./place.ts";
import { isServing } from "./probe.ts";
import { findServers } from "./server.ts";
import { isTrusted, ownAddress } from "./trust.ts";

const PROBE_MS = 5000;

/** A view and the things it was made from. */
export interface ShareReading extends ShareView {
  name: string;
  layout: ShareLayout;
  /** The other nodes that it is to let in, with their addresses. */
  nodes: readonly ShareUser[];
}

interface ShareReads {
  store?: Pick<ObjectStore, "get">;
  /** A server that does not respond is not counted as silent once more. Default false. */
  dry?: boolean;
}

/** Undefined: another node's to deal with, and nothing of it is here. */
export async function readShare(
  context: AgentContext,
  name: string,
  { store = context.store, dry = false }: ShareReads = {},
): Promise<ShareReading | undefined> {
  const { nodeID, host, stateDir, signal, healthMs } = context;
  const share = await getIfAny(store, ShareManagers, { name }, signal);
  const ours = isOurs(share, nodeID);
  // What is wrong with the name is for the node that is to serve it to report: others have no folder of it.
  if (!ours && !isImageId(name)) return undefined;
  const layout = shareLayout(stateDir, checkImageId(name));
  const folder = await exists(layout.folder);
  if (!folder && !ours) return undefined;
  const volume = await getIfAny(store, Volumes, { name }, signal);
  const pids = folder ? await findServers(layout) : [];
  const recorded = await recordedSocket(layout);
  const network = await readNetwork(context, { share, layout, recorded, running: pids.length > 0 });
  const { address } = network;
  const mounted = (await host.mounts.at(layout.mount)).at(-1)?.source;
  const connected = (await host.mounts.list()).some(
    ({ fsType, source }) => fsType.startsWith("nfs") && source === `${address}:/${name}`,
  );
  return {
    ...{ name, layout, nodeID, share, volume, mounted, folder, recorded, address, healthMs },
    connected,
    nodes: network.users,
    users: network.users.map((user) => user.nodeID),
    untrusted: network.untrusted,
    clients: addressesOf(network.users, connected ? [address] : []),
    admitted: context.admitted.get(name),
    device: await deviceOf(context, volume),
    servers: pids.length,
    silences: dry
      ? (context.silences.get(name)?.count ?? 0)
      : await silencesOf(context, name, pids.length > 0 ? recorded : {}),
    endpoint: `nfs://${address}:${recorded.port ?? 0}/${name}`,
  };
}

interface Present extends Pick<ShareView, "share" | "recorded"> {
  layout: ShareLayout;
  running: boolean;
}

/** Where the volume is to be served, and to whom. */
async function readNetwork(
  { store, nodeID, networks, address: reaching, signal }: AgentContext,
  { share, layout, recorded, running }: Present,
): Promise<Admission & { address: string }> {
  const { status } = share ?? {};
  // Also one that has died, or whose machine has, and is about to be started again.
  const going = running || (status?.nodeID === nodeID && status.endpoint !== undefined);
  const before = going ? await recordedClients(layout) : new Set<string>();
  // Not noted: a NodeAgent changes with every heartbeat, and each probe of the server reads again.
  const reported = await usersOf(store, othersOf(share, nodeID), signal);
  const users = withLastAddress(reported, await recordedNodes(layout), before);
  const place = await findPlace();
  const own = ownAddress(place, networks, reaching);
  const stays =
    users.some((user) => user.address !== undefined && before.has(user.address)) ||
    isTrusted(recorded.address ?? "", networks, place) ||
    !isTrusted(own ?? "", networks, place);
  const address = chooseAddress(stays ? recorded.address : undefined, place.addresses, own);
  return { ...(await admission(users, { networks, place, server: address }, nodeID, before)), address };
}

/** Addresses to let in, in order. Not this node's own: containers have their machine's network, and could claim to be the node. */
function addressesOf(users: readonly ShareUser[], more: readonly string[]): string[] {
  return [...new Set([...more, ...users.flatMap(({ address }) => address ?? [])])].sort();
}

function othersOf(share: ShareManager | undefined, nodeID: string): string[] {
  return (share?.spec.users ?? []).filter((user) => user !== nodeID);
}

function isOurs(share: ShareManager | undefined, nodeID: string): boolean {
  return share?.spec.nodeID === nodeID || share?.status?.nodeID === nodeID;
}

/** Counted over several probes, each its time after the one before: a busy machine may be late once. */
async function silencesOf(
  { silences, healthMs }: AgentContext,
  name: string,
  { address, port }: Partial<ServerSocket>,
): Promise<number> {
  if (address === undefined || port === undefined || (await isServing({ address, port }, PROBE_MS))) {
    silences.delete(name);
    return 0;
  }
  const last = silences.get(name) ?? { count: 0, at: -Infinity };
  const now = performance.now();
  if (now - last.at < healthMs / 2) return last.count;
  silences.set(name, { count: last.count + 1, at: now });
  return last.count + 1;
}

async function deviceOf({ host }: AgentContext, volume: Volume | undefined): Promise<LoopDevice | undefined> {
  const { device = "" } = volume?.status ?? {};
  if (!device.startsWith("/dev/")) return undefined;
  const loop = await host.loops.at(device);
  // Loop device numbers are given out again.
  return loop?.backingFile.endsWith(`/${volume?.metadata.name}.img`) === true ? loop : undefined;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
