import { DRIVER_NAME, GroupSnapshots } from "@mooring/engine";
import { SNAPSHOT_OF_GROUP, VolumeGroupRestores } from "@mooring/sidecars";
import {
  type LabelRequirement,
  labelRequirements,
  matchesLabels,
  PersistentVolumeClaims,
  type VolumeGroupSnapshot,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { explainClaim } from "./explain-claim.ts";
import { afterSnapshotError, explainSnapshot } from "./explain-snapshot.ts";
import { type Finding, finding } from "./finding.ts";

/** Mooring's own group snapshot: the barrier. */
export async function explainEngineGroup(context: Context, name: string): Promise<Finding> {
  const subject = `GroupSnapshot ${name}`;
  const group = await read(context, GroupSnapshots, { name });
  if (group === undefined)
    return finding("failed", subject, "does not exist", {
      next: "kubectl get groupsnapshots.storage.mooring.dev",
    });
  const { status } = group;
  const { error } = status ?? {};
  // What keeps a group from beginning passes by itself.
  if (error !== undefined && status?.state === "preparing")
    return finding("waiting", subject, `is preparing: ${error.message}`);
  if (error !== undefined) return finding("failed", subject, `${error.code}: ${error.message}`);
  if (status?.readyToUse !== true) return finding("waiting", subject, `is ${status?.state ?? "new"}`);
  const { barrier } = status;
  const how =
    barrier === undefined ? "" : ` (${barrier.method}, writers waited ${barrier.pauseMilliseconds} ms)`;
  return finding("ok", subject, `created at ${status.creationTime}${how}`);
}

async function content(context: Context, name: string | undefined): Promise<Finding[]> {
  if (name === undefined) return [];
  const subject = `VolumeGroupSnapshotContent ${name}`;
  const found = await read(context, VolumeGroupSnapshotContents, { name });
  if (found === undefined) return [finding("failed", subject, "does not exist")];
  const handle = found.status?.volumeGroupSnapshotHandle;
  const children =
    handle !== undefined && found.spec.driver === DRIVER_NAME
      ? [await explainEngineGroup(context, handle)]
      : [];
  const error = found.status?.error?.message;
  if (error !== undefined) return [finding("failed", subject, error, { children })];
  if (found.metadata.deletionTimestamp !== undefined)
    return [finding("waiting", subject, "is being deleted", { children })];
  const ready = found.status?.readyToUse === true;
  return [
    finding(ready ? "ok" : "waiting", subject, ready ? "ready" : `waits for ${found.spec.driver}`, {
      children,
    }),
  ];
}

/** Before there is a content: the claims that would be members, or the volume group that has them. */
async function claims(context: Context, namespace: string, group: VolumeGroupSnapshot): Promise<Finding[]> {
  const named = group.metadata.annotations?.[SNAPSHOT_OF_GROUP];
  if (named) return [await context.explain("volumegroup", namespace, named)];
  const requirements = requirementsOf(group);
  if (requirements.length === 0) return [];
  const { items } = await context.store.list(PersistentVolumeClaims, { namespace });
  const selected = items.filter(({ metadata }) => matchesLabels(requirements, metadata.labels));
  return Promise.all(selected.map(({ metadata }) => explainClaim(context, namespace, metadata.name)));
}

/** None of a selector that is not valid: the group snapshot reports that itself. */
function requirementsOf({ spec }: VolumeGroupSnapshot): LabelRequirement[] {
  try {
    return labelRequirements(spec.source.selector ?? {});
  } catch {
    return [];
  }
}

/** A user's group snapshot, down to the barrier, to each member that is not ready, or to the claims it selects. */
export async function explainGroupSnapshot(
  context: Context,
  namespace: string,
  name: string,
): Promise<Finding> {
  const subject = `VolumeGroupSnapshot ${namespace}/${name}`;
  const group = await read(context, VolumeGroupSnapshots, { namespace, name });
  if (group === undefined)
    return finding("failed", subject, "does not exist", { next: `mooring group list -n ${namespace}` });
  const bound = group.status?.boundVolumeGroupSnapshotContentName;
  const children =
    bound === undefined ? await claims(context, namespace, group) : await content(context, bound);
  const { items } = await context.store.list(VolumeSnapshots, { namespace });
  for (const snapshot of items) {
    const isMember = snapshot.metadata.ownerReferences?.some(({ uid }) => uid === group.metadata.uid);
    if (isMember && snapshot.status?.readyToUse !== true)
      children.push(await explainSnapshot(context, namespace, snapshot.metadata.name));
  }
  const deleting = group.metadata.deletionTimestamp !== undefined;
  if (group.status?.readyToUse === true && !deleting)
    return finding("ok", subject, "ready to use", { children });
  const error = group.status?.error?.message ?? (await lastWarning(context, group))?.message;
  return error === undefined
    ? finding("waiting", subject, deleting ? "is being deleted" : "not ready yet", { children })
    : finding("failed", subject, error, { children, next: afterGroupError(error, namespace, name) });
}

function afterGroupError(error: string, namespace: string, name: string): string {
  if (/no claim of the namespace matches/.test(error))
    return `label the claims as in its selector: kubectl get pvc -n ${namespace} --show-labels`;
  return afterSnapshotError(error, `volumegroupsnapshot -n ${namespace} ${name}`);
}

/** A group restore, down to its group snapshot or to every claim that is not bound. */
export async function explainGroupRestore(
  context: Context,
  namespace: string,
  name: string,
): Promise<Finding> {
  const subject = `VolumeGroupRestore ${namespace}/${name}`;
  const restore = await read(context, VolumeGroupRestores, { namespace, name });
  if (restore === undefined)
    return finding("failed", subject, "does not exist", {
      next: `kubectl get volumegrouprestores -n ${namespace}`,
    });
  const { members, message = "nothing has taken it up", phase = "Waiting" } = restore.status ?? {};
  const children: Finding[] = [];
  if (members === undefined)
    children.push(
      await explainGroupSnapshot(context, namespace, restore.spec.source.volumeGroupSnapshotName),
    );
  for (const member of members ?? []) {
    if (["Provisioning", "WaitForFirstConsumer"].includes(member.phase))
      children.push(await explainClaim(context, namespace, member.claimName));
    else if (member.phase !== "Bound")
      children.push(
        finding(
          member.phase === "Failed" ? "failed" : "waiting",
          `PersistentVolumeClaim ${namespace}/${member.claimName}`,
          member.message,
        ),
      );
  }
  const state = phase === "Ready" ? "ok" : phase === "Failed" ? "failed" : "waiting";
  const next =
    phase === "Failed"
      ? {
          next: `put right what it says; spec is immutable: kubectl delete volumegrouprestore ${name} -n ${namespace}, and restore again`,
        }
      : {};
  return finding(state, subject, `${phase}: ${message}`, { children, ...next });
}
