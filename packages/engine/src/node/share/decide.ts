import { isDeepStrictEqual } from "node:util";
import { DONE, type Outcome, wait } from "@mooring/store";
import type { ShareManager, ShareManagerStatus, UntrustedUser } from "../../api/share-manager.ts";
import type { Volume } from "../../api/volume.ts";
import { fail } from "../../refused.ts";
import type { ServerSocket } from "./config.ts";

/** Probes in a row that a server may stay silent before it is ended and started again. */
const MOST_SILENCES = 3;

/** Everything that a decision about serving a volume may depend on. */
export interface ShareView {
  /** This node. */
  nodeID: string;
  share: ShareManager | undefined;
  volume: Volume | undefined;
  /** The device that the volume has here now. */
  device: { path: string; sizeBytes: number; fenced?: boolean } | undefined;
  /** Source of what is mounted where the share has its file system. */
  mounted: string | undefined;
  /** The server's processes, and where they were configured to listen. */
  servers: number;
  recorded: Partial<ServerSocket>;
  /** Where a server is to listen now. */
  address: string;
  /** Other nodes that are to have it, and those that must not, or should not have been let in. */
  users: readonly string[];
  untrusted: readonly UntrustedUser[];
  /** Addresses that it is to let in, and those that this life of the agent has had it let in. */
  clients: readonly string[];
  admitted: string | undefined;
  /** Something on this very node has it over the network, as earlier versions mounted it. */
  connected: boolean;
  /** How many probes in a row the server has not responded to. */
  silences: number;
  /** There is something in the state folder. */
  folder: boolean;
  /** `nfs://10.0.0.5:20490/v-p-1`, were it served now. */
  endpoint: string;
  healthMs: number;
}

/** One step for a share that this node serves. */
export type ShareStep =
  | Outcome
  | { do: "mount" }
  | { do: "grow" }
  | { do: "start" }
  /** The server that runs lets in the nodes that it is to, and no others. */
  | { do: "admit" }
  | { do: "end" }
  | { do: "unmount" }
  | { do: "remove-folder" }
  | { do: "record"; status: ShareManagerStatus };

/**
 * The next step for a volume that this node is to serve, or has served. Its own workloads have the file system at hand: a
 * server is there only for others. Pure.
 */
export function decide(view: ShareView): ShareStep {
  return isWanted(view) ? serve(view) : stop(view);
}

/** True when the device is on this node, workloads may use it, and this node is the one that is to serve them. */
function isWanted({ nodeID, share, volume, device }: ShareView): boolean {
  const { spec, status } = volume ?? {};
  const placed = spec?.nodeID === nodeID && spec.disableFrontend !== true;
  const there =
    status?.state === "attached" && status.currentNodeID === nodeID && status.robustness !== "faulted";
  const whole = device !== undefined && device.fenced !== true && device.path === status?.device;
  return share?.spec.nodeID === nodeID && placed && there && whole;
}

function serve(view: ShareView): ShareStep {
  const { nodeID, device, mounted, servers, share } = view;
  if (device === undefined) return fail("UNAVAILABLE", "the volume has no device");
  const { state, endpoint } = share?.status ?? {};
  // Reported before it comes back, however soon that is: those who use it have lost it.
  const died = servers === 0 && endpoint !== undefined && needsServer(view);
  if (died && state === "running" && share?.status?.nodeID === nodeID)
    return record(view, { state: "stopped", nodeID, endpoint }) ?? DONE;
  // Of a device that is gone: nothing that is mounted from it works any more.
  if (mounted !== undefined && mounted !== device.path)
    return servers > 0 ? { do: "end" } : { do: "unmount" };
  if (mounted === undefined) return servers > 0 ? { do: "end" } : { do: "mount" };
  const next = needsServer(view) ? nextOfServer(view) : servers > 0 ? ({ do: "end" } as const) : undefined;
  if (next !== undefined) return next;
  const { size } = share?.status ?? {};
  if (size !== device.sizeBytes) return { do: "grow" };
  return record(view, { state: "running", nodeID, size, ...servedTo(view) }) ?? restOf(view);
}

/** The nodes that may use the volume over the network, and those that must not. */
function servedTo(view: ShareView): Pick<ShareManagerStatus, "endpoint" | "users" | "untrusted"> {
  const { endpoint, users, untrusted } = view;
  return {
    ...(needsServer(view) ? { endpoint, users: [...users] } : {}),
    ...(untrusted.length === 0 ? {} : { untrusted: [...untrusted] }),
  };
}

/**
 * Until the next read: the agent has to probe the server, and a refused node may come back with another address; neither
 * sends an event.
 */
function restOf(view: ShareView): ShareStep {
  const { untrusted, healthMs } = view;
  return needsServer(view) || untrusted.length > 0 ? wait(healthMs) : DONE;
}

function needsServer({ users, connected }: ShareView): boolean {
  return connected || users.length > 0;
}

/** Undefined: one server runs where it is to, admits the clients that it is to, and responds. */
function nextOfServer({ servers, recorded, address, silences, admitted, clients }: ShareView) {
  const astray = servers === 1 && recorded.address !== address;
  if (servers > 1 || astray || silences >= MOST_SILENCES) return { do: "end" } as const;
  if (servers === 0) return { do: "start" } as const;
  return admitted === clients.join() ? undefined : ({ do: "admit" } as const);
}

/** First the server, then the mount, then its configuration: a folder that is left means that there may be more. */
function stop(view: ShareView): ShareStep {
  const { nodeID, share, mounted, servers, folder } = view;
  if (servers > 0) return { do: "end" };
  if (mounted !== undefined) return { do: "unmount" };
  const latest = share?.status;
  // What went wrong for those who have left is no news to those who come next.
  const news = latest?.state !== "stopped" || latest.error !== undefined || latest.endpoint !== undefined;
  const ours = latest?.nodeID === nodeID && news;
  if (ours) return record(view, { state: "stopped", nodeID }) ?? DONE;
  const over = share === undefined || share.spec.nodeID !== nodeID;
  return folder && over ? { do: "remove-folder" } : DONE;
}

function record({ share }: ShareView, status: ShareManagerStatus): ShareStep | undefined {
  if (share === undefined) return undefined;
  // An error is over with whatever is recorded next, and with nothing else.
  return isDeepStrictEqual(share.status, status) ? undefined : { do: "record", status };
}
