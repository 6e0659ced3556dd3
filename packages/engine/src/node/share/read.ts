import { access } from "node:fs/promises";
import { getIfAny, type ObjectStore } from "@mooring/store";
import { type ShareManager, ShareManagers } from "../../api/share-manager.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { LoopDevice } from "../../host/host.ts";
import { checkImageId } from "../../pools/image-id.ts";
import type { AgentContext } from "../context.ts";
import { chooseAddress, nodeAddresses } from "./address.ts";
import { clientsOf } from "./clients.ts";
import { recordedSocket, type ServerSocket } from "./config.ts";
import type { ShareView } from "./decide.ts";
import { type ShareLayout, shareLayout } from "./layout.ts";
import { isServing } from "./probe.ts";
import { findServers } from "./server.ts";

const PROBE_MS = 5000;

/** A view and the things it was made from. */
export interface ShareReading extends ShareView {
  name: string;
  layout: ShareLayout;
}

/** Undefined: another node's to deal with, and nothing of it is here. */
export async function readShare(
  context: AgentContext,
  name: string,
  store: Pick<ObjectStore, "get"> = context.store,
): Promise<ShareReading | undefined> {
  const { nodeID, host, stateDir, signal, healthMs } = context;
  const layout = shareLayout(stateDir, checkImageId(name));
  const share = await getIfAny(store, ShareManagers, { name }, signal);
  const folder = await exists(layout.folder);
  if (!folder && !isOurs(share, nodeID)) return undefined;
  const volume = await getIfAny(store, Volumes, { name }, signal);
  const pids = folder ? await findServers(layout) : [];
  const recorded = await recordedSocket(layout);
  const address = chooseAddress(recorded.address, nodeAddresses(), context.address);
  const mounted = (await host.mounts.at(layout.mount)).at(-1)?.source;
  const connected = (await host.mounts.list()).some(
    ({ fsType, source }) => fsType.startsWith("nfs") && source === `${address}:/${name}`,
  );
  return {
    ...{ name, layout, nodeID, share, volume, mounted, folder, recorded, address, healthMs },
    connected,
    // Not noted: a NodeAgent changes with every heartbeat, and each probe of the server reads again.
    clients: await clientsOf(context.store, othersOf(share, nodeID), connected ? [address] : [], signal),
    admitted: context.admitted.get(name),
    device: await deviceOf(context, volume),
    servers: pids.length,
    silences: await silencesOf(context, name, pids.length > 0 ? recorded : {}),
    endpoint: `nfs://${address}:${recorded.port ?? 0}/${name}`,
  };
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
