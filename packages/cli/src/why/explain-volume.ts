import { describeMigration, type Volume, VolumeAttachments, Volumes } from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { explainTickets } from "./explain-ticket.ts";
import { type Finding, finding } from "./finding.ts";

async function tickets(context: Context, volume: Volume): Promise<Finding[]> {
  const attachment = await read(context, VolumeAttachments, { name: volume.metadata.name });
  return attachment === undefined ? [] : explainTickets(attachment, new Date());
}

/** Mooring's own volume: its state, its last error, and every ticket on it. */
export async function explainVolume(context: Context, name: string): Promise<Finding> {
  const subject = `Volume ${name}`;
  const volume = await read(context, Volumes, { name });
  if (volume === undefined) return finding("failed", subject, "does not exist");
  const { status } = volume;
  const children = await tickets(context, volume);
  if (status?.error !== undefined) {
    return finding("failed", subject, `${status.error.code}: ${status.error.message}`, { children });
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
