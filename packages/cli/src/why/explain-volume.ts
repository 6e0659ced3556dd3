import {
  describeMigration,
  isServed,
  Pools,
  remountsOwed,
  ShareManagers,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { claimsByHandle } from "../volume/claims.ts";
import { type Context, read } from "./context.ts";
import { explainAttachedNode } from "./explain-attached-node.ts";
import { explainRoom } from "./explain-room.ts";
import { explainTickets } from "./explain-ticket.ts";
import { type Finding, finding } from "./finding.ts";

async function tickets(context: Context, volume: Volume): Promise<Finding[]> {
  const attachment = await read(context, VolumeAttachments, { name: volume.metadata.name });
  if (attachment === undefined) return [];
  return [...remounts(volume, attachment), ...explainTickets(attachment, new Date())];
}

/** Who has it mounted as it was before it failed, or was served elsewhere. */
function remounts(volume: Volume, { spec }: VolumeAttachment): Finding[] {
  const asked = volume.status?.remountRequestedAt;
  return remountsOwed(volume, Object.values(spec.attachmentTickets ?? {})).map(({ id, type, nodeID }) =>
    finding(
      "waiting",
      `remount on node ${nodeID} (ticket ${id}, ${type})`,
      `what was mounted there before ${asked} is dead or moved: programs hang or get errors`,
      {
        next: `start the pods again that use the volume on node ${nodeID}: they mount it anew; without pods: unmount it there, and mount it again`,
      },
    ),
  );
}

const NAME_NETWORK =
  "start mooring up and mooring node with --trusted-network NETWORK (the chart: node.trustedNetworks), or have the nodes join over WireGuard";

/** Who serves a volume that many nodes use, and for whom. */
async function share(context: Context, volume: Volume): Promise<Finding[]> {
  if (!isServed(volume)) return [];
  const { name } = volume.metadata;
  const subject = `ShareManager ${name}`;
  const manager = await read(context, ShareManagers, { name });
  const { nodeID = "", users = [] } = manager?.spec ?? {};
  const { state = "stopped", endpoint = "", error } = manager?.status ?? {};
  if (users.length === 0)
    return [finding("ok", subject, "no pod and no job uses the volume, so no node serves it")];
  const refusedUsers = (manager?.status?.untrusted ?? []).filter(({ refused }) => refused);
  const served = users.filter((user) => !refusedUsers.some((refusal) => refusal.nodeID === user));
  const whom = `for ${served.join(", ") || "no user"}`;
  if (nodeID === "") return [finding("waiting", subject, `no node is ready to serve it ${whom}`)];
  if (error !== undefined)
    return [finding("failed", subject, `node ${nodeID}: ${error.code}: ${error.message}`)];
  if (state === "running") {
    const untrusted = (manager?.status?.untrusted ?? []).map(({ nodeID: user, refused, message }) =>
      finding(refused ? "failed" : "waiting", `network of node ${user}`, message, {
        next: refused ? NAME_NETWORK : `${NAME_NETWORK}; until then it stays in, as its programs would hang`,
      }),
    );
    const how =
      endpoint === "" ? `has it ${whom}; no other node uses it` : `serves it ${whom} at ${endpoint}`;
    return [finding("ok", subject, `node ${nodeID} ${how}`), ...untrusted];
  }
  return [finding("waiting", subject, `node ${nodeID} is to serve it ${whom} (${state})`)];
}

/** What an operator can do about the error of a volume: some faults are repaired only with their consent to lose data. */
async function afterError(context: Context, volume: Volume): Promise<string> {
  const { metadata, status } = volume;
  const { name } = metadata;
  const kubectl = `kubectl describe volumes.storage.mooring.dev ${name}`;
  switch (status?.salvage?.state) {
    case "NeedsConsent": {
      const consent = `{"spec":{"acceptDataLoss":"${status.salvage.faultedAt}"}}`;
      const patch = `kubectl patch volumes.storage.mooring.dev ${name} --type merge -p '${consent}'`;
      return (await isUnused(context, volume))
        ? `nothing was ever written to it, and nothing is lost: ${patch}`
        : `restore a snapshot, or go on with what is left: ${patch}`;
    }
    case "Lost":
      if (await isUnused(context, volume)) return createAgain(context, name);
      return `put its image back where it was, or restore a snapshot or a backup of it: ${kubectl}`;
    default:
      return `put right what it says, and it goes on by itself: ${kubectl}`;
  }
}

/** No workload can have written to it: it was made empty, and was never formatted since, or never attached. */
async function isUnused(context: Context, { metadata, spec, status }: Volume): Promise<boolean> {
  // What was taken in is no request's; it has the data that it came with.
  if (spec.source !== undefined || spec.request === undefined || status?.formatted !== undefined)
    return false;
  const pool = await read(context, Pools, { name: spec.pool });
  if (pool !== undefined && pool.spec.type !== "directory" && spec.volumeMode === "Filesystem") return true;
  const attachment = await read(context, VolumeAttachments, { name: metadata.name });
  // Gone, as its deletion has begun: nobody knows any more.
  return attachment !== undefined && (attachment.status?.generationCounter ?? 0) === 0;
}

async function createAgain({ store }: Context, name: string): Promise<string> {
  const claim = (await claimsByHandle(store)).get(name);
  const unused = "nothing was ever written to it";
  if (claim === undefined) return `${unused}: delete it, and create another one: mooring volume list`;
  const [namespace, own] = claim.split("/");
  return `${unused}: delete its claim, and create it again: kubectl delete pvc -n ${namespace} ${own}`;
}

/** Mooring's own volume: its state, its last error, and every ticket on it. */
export async function explainVolume(context: Context, name: string): Promise<Finding> {
  const subject = `Volume ${name}`;
  const volume = await read(context, Volumes, { name });
  if (volume === undefined)
    return finding("failed", subject, "does not exist", { next: "mooring volume list" });
  const { status } = volume;
  const children = [
    ...(await explainRoom(context, volume)),
    ...(await explainAttachedNode(context, volume)),
    ...(await share(context, volume)),
    ...(await tickets(context, volume)),
  ];
  if (status?.error !== undefined) {
    const next = await afterError(context, volume);
    return finding("failed", subject, `${status.error.code}: ${status.error.message}`, { children, next });
  }
  if (volume.metadata.deletionTimestamp !== undefined) {
    return finding("waiting", subject, "is being deleted: its image goes first, then its record", {
      children,
    });
  }
  if (status === undefined || status.state === "creating") {
    return finding("waiting", subject, `its image is being made in pool ${volume.spec.pool}`, { children });
  }
  const where = status.currentNodeID ? ` on ${status.currentNodeID} as ${status.device ?? "no device"}` : "";
  const migration = describeMigration(volume);
  const migrating = migration === undefined ? "" : `; migrating, ${migration}`;
  const moving = status.state === "attaching" || status.state === "detaching";
  return finding(moving ? "waiting" : "ok", subject, `${status.state}${where}${migrating}`, { children });
}
