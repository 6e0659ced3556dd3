import { DRIVER_NAME, type GroupSnapshot, GroupSnapshots } from "@mooring/engine";
import {
  labelRequirements,
  matchesLabels,
  PersistentVolumeClaims,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { explainClaim } from "./explain-claim.ts";
import { explainSnapshot } from "./explain-snapshot.ts";
import { type Finding, finding } from "./finding.ts";

/** What each state before `ready` waits for. */
const STATES: Readonly<Record<string, string>> = {
  preparing: "its members are being made ready for the cut",
  quiescing: "its members' writers are being kept still",
  cutting: "its members are being cut",
  releasing: "its members' writers are let go",
  committed: "its snapshots are being marked ready",
  failing: "what was made of it is being removed",
  deleting: "its snapshots are being removed",
};

/** Mooring's own group snapshot: its barrier and its last error. */
export async function explainEngineGroup(context: Context, name: string): Promise<Finding> {
  const subject = `GroupSnapshot ${name}`;
  const group = await read(context, GroupSnapshots, { name });
  if (group === undefined) return finding("failed", subject, "does not exist");
  const { status } = group;
  if (status?.error !== undefined)
    return finding("failed", subject, `${status.error.code}: ${status.error.message}`);
  if (status?.state === "ready") return finding("ok", subject, barrierText(status));
  return finding("waiting", subject, STATES[status?.state ?? ""] ?? "nobody has looked at it yet");
}

function barrierText({ barrier, creationTime }: NonNullable<GroupSnapshot["status"]>): string {
  if (barrier === undefined) return `ready, cut at ${creationTime}`;
  return `ready, cut at ${creationTime} by ${barrier.method}; writers waited ${barrier.pauseMilliseconds} ms`;
}

function contentName({ metadata, spec, status }: VolumeGroupSnapshot): string {
  return (
    status?.boundVolumeGroupSnapshotContentName ??
    spec.source.volumeGroupSnapshotContentName ??
    `groupsnapcontent-${metadata.uid}`
  );
}

async function behind(
  context: Context,
  group: VolumeGroupSnapshot,
): Promise<{ content: VolumeGroupSnapshotContent | undefined; findings: Finding[] }> {
  const name = contentName(group);
  const content = await read(context, VolumeGroupSnapshotContents, { name });
  if (content === undefined) return { content, findings: [] };
  const subject = `VolumeGroupSnapshotContent ${name}`;
  const { driver } = content.spec;
  const { error, readyToUse, volumeSnapshotInfoList: members = [] } = content.status ?? {};
  const handle = content.status?.volumeGroupSnapshotHandle;
  const children =
    handle !== undefined && driver === DRIVER_NAME ? [await explainEngineGroup(context, handle)] : [];
  const late = members.filter((member) => member.readyToUse !== true).length;
  const state = content.metadata.deletionTimestamp !== undefined ? "delete" : "cut";
  const told =
    error?.message !== undefined
      ? finding("failed", subject, `${error.message} (it is retried)`, { children })
      : readyToUse === true && state === "cut"
        ? finding("ok", subject, `${members.length} members, ready`, { children })
        : finding(
            "waiting",
            subject,
            members.length === 0 || state === "delete"
              ? `waits for ${driver} to ${state} the snapshots`
              : `waits for ${driver}: ${late} of ${members.length} members are not ready`,
            { children },
          );
  return { content, findings: [told] };
}

/** The members, in the order of their names. */
async function members(context: Context, group: VolumeGroupSnapshot): Promise<Finding[]> {
  const namespace = group.metadata.namespace ?? "default";
  const { items } = await context.store.list(VolumeSnapshots, { namespace });
  const own = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === group.metadata.uid),
  );
  const names = own.map(({ metadata }) => metadata.name).sort();
  return Promise.all(names.map((name) => explainSnapshot(context, namespace, name)));
}

/** The claims that are, or would be, its sources. */
async function claims(context: Context, group: VolumeGroupSnapshot): Promise<Finding[]> {
  const { selector } = group.spec.source;
  const namespace = group.metadata.namespace ?? "default";
  const requirements = selector === undefined ? [] : labelRequirements(selector);
  if (requirements.length === 0) return [];
  const { items } = await context.store.list(PersistentVolumeClaims, { namespace });
  const matching = items.filter(({ metadata }) => matchesLabels(requirements, metadata.labels));
  return Promise.all(matching.map(({ metadata }) => explainClaim(context, namespace, metadata.name)));
}

/** A group snapshot, down to its members and, while it has none, to the claims that it selects. */
export async function explainGroupSnapshot(
  context: Context,
  namespace: string,
  name: string,
): Promise<Finding> {
  const subject = `VolumeGroupSnapshot ${namespace}/${name}`;
  const group = await read(context, VolumeGroupSnapshots, { namespace, name });
  if (group === undefined)
    return finding("failed", subject, "does not exist", {
      next: `kubectl get volumegroupsnapshots -n ${namespace}`,
    });
  const { content, findings } = await behind(context, group);
  const sources = content === undefined ? await claims(context, group) : await members(context, group);
  const children = [...findings, ...sources];
  const deleting = group.metadata.deletionTimestamp !== undefined;
  const message = group.status?.error?.message ?? (await lastWarning(context, group))?.message;
  if (group.status?.readyToUse === true && !deleting)
    return finding("ok", subject, "ready to use", { children });
  if (message !== undefined)
    return finding("failed", subject, message, {
      children,
      next: `kubectl describe vgs -n ${namespace} ${name}`,
    });
  return finding("waiting", subject, deleting ? "is being deleted" : "not ready yet", { children });
}
