import {
  describeMigration,
  isServed,
  remountsOwed,
  ShareManagers,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
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
function afterError({ metadata: { name }, status }: Volume): string {
  const kubectl = `kubectl describe volumes.storage.mooring.dev ${name}`;
  switch (status?.salvage?.state) {
    case "NeedsConsent": {
      const consent = `{"spec":{"acceptDataLoss":"${status.salvage.faultedAt}"}}`;
      return `restore a snapshot, or go on with what is left: kubectl patch volumes.storage.mooring.dev ${name} --type merge -p '${consent}'`;
    }
    case "Lost":
      return `put its image back where it was, or restore a snapshot or a backup of it: ${kubectl}`;
    default:
      return `put right what it says, and it goes on by itself: ${kubectl}`;
  }
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
    const next = afterError(volume);
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
