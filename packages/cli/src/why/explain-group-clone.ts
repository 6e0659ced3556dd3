import { VolumeGroupClones, VolumeGroupRestores } from "@mooring/sidecars";
import { VolumeGroupSnapshots } from "@mooring/store";
import { type Context, read } from "./context.ts";
import { explainGroupRestore, explainGroupSnapshot } from "./explain-group.ts";
import { explainVolumeGroup } from "./explain-volume-group.ts";
import { type Finding, finding } from "./finding.ts";

/** A group clone, down to the group that it waits for, its internal group snapshot, or the claims of its restore. */
export async function explainGroupClone(context: Context, namespace: string, name: string): Promise<Finding> {
  const subject = `VolumeGroupClone ${namespace}/${name}`;
  const clone = await read(context, VolumeGroupClones, { namespace, name });
  if (clone === undefined)
    return finding("failed", subject, "does not exist", {
      next: `kubectl get volumegroupclones -n ${namespace}`,
    });
  const { message = "nothing has taken it up", phase = "Waiting" } = clone.status ?? {};
  const part = `clone-${clone.metadata.uid}`;
  const children: Finding[] = [];
  if (phase === "Waiting")
    children.push(await explainVolumeGroup(context, namespace, clone.spec.source.volumeGroupName));
  else if (phase !== "Ready") {
    const key = { namespace, name: part };
    if ((await read(context, VolumeGroupRestores, key)) !== undefined)
      children.push(await explainGroupRestore(context, namespace, part));
    else if ((await read(context, VolumeGroupSnapshots, key)) !== undefined)
      children.push(await explainGroupSnapshot(context, namespace, part));
  }
  const state = phase === "Ready" ? "ok" : phase === "Failed" ? "failed" : "waiting";
  const next =
    phase === "Failed"
      ? {
          next: `put right what it says; spec is immutable: kubectl delete volumegroupclone ${name} -n ${namespace}, and clone again`,
        }
      : {};
  return finding(state, subject, `${phase}: ${message}`, { children, ...next });
}
