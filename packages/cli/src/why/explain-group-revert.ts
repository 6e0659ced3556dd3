import { VolumeGroupReverts } from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { explainAttachment } from "./explain-attachment.ts";
import { explainGroupSnapshot } from "./explain-group.ts";
import { type Finding, finding } from "./finding.ts";

/** A group revert, down to its group snapshot, or to the tickets of every member that is not satisfied yet. */
export async function explainGroupRevert(
  context: Context,
  namespace: string,
  name: string,
): Promise<Finding> {
  const subject = `VolumeGroupRevert ${namespace}/${name}`;
  const revert = await read(context, VolumeGroupReverts, { namespace, name });
  if (revert === undefined) {
    return finding("failed", subject, "does not exist", {
      next: `kubectl get volumegroupreverts -n ${namespace}`,
    });
  }
  const { members, message = "nothing has taken it up", phase = "Waiting" } = revert.status ?? {};
  const children: Finding[] = [];
  if (members === undefined) {
    const from = revert.spec.source.volumeGroupSnapshotName;
    children.push(await explainGroupSnapshot(context, namespace, from));
  }
  if (phase === "Holding" || phase === "Reverting") {
    for (const { volume } of members ?? []) children.push(await explainAttachment(context, volume));
  }
  const state = phase === "Complete" ? "ok" : phase === "Failed" ? "failed" : "waiting";
  const next =
    phase === "Failed"
      ? { next: "nothing has been changed: put right what it says, and create another one" }
      : {};
  return finding(state, subject, `${phase}: ${message}`, { children, ...next });
}
