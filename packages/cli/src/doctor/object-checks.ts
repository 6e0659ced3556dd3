import {
  GroupSnapshots,
  type NodeAgent,
  NodeAgents,
  Pools,
  ShareManagers,
  Snapshots,
  silentPoolsMessage,
  VolumeAttachments,
  VolumeGroupReverts,
  Volumes,
} from "@mooring/engine";
import { VolumeGroupClones, VolumeGroupRestores, VolumeGroups } from "@mooring/sidecars";
import {
  Deployments,
  Events,
  Jobs,
  type KubeObject,
  KubeVolumeAttachments,
  Nodes,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  ReplicaSets,
  type Resource,
  StatefulSets,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { claimsByHandle, withClaim } from "../volume/claims.ts";
import type { Finding } from "../why/finding.ts";
import { endItsPods } from "../why/pool-users.ts";
import { type Check, check } from "./check.ts";
import { jobChecks } from "./job-checks.ts";
import { missingKindChecks, withoutMissingKinds } from "./missing-kinds.ts";
import { poolCheck } from "./pool-check.ts";
import { remountChecks } from "./remount-checks.ts";
import { ticketChecks } from "./ticket-checks.ts";
import { whyStays, workloadChecks } from "./workload-checks.ts";

/** A deletion that takes longer than this is worth a report. */
const STUCK_AFTER_MS = 5 * 60_000;
/** Of so many the cause is read; of the rest there are the finalizers. */
const MOST_STUCK = 50;

const WATCHED: readonly Resource[] = [
  Pods,
  PersistentVolumeClaims,
  PersistentVolumes,
  KubeVolumeAttachments,
  VolumeSnapshots,
  VolumeSnapshotContents,
  Volumes,
  Snapshots,
  GroupSnapshots,
  Pools,
];

/** All kinds that the checks read. */
export const WATCHED_KINDS: readonly Resource[] = [
  ...WATCHED,
  Nodes,
  NodeAgents,
  ShareManagers,
  VolumeAttachments,
  VolumeGroupSnapshots,
  VolumeGroupRestores,
  VolumeGroupReverts,
  VolumeGroupClones,
  VolumeGroups,
  Deployments,
  ReplicaSets,
  StatefulSets,
  Jobs,
  Events,
];

function name({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

async function stuck(store: ObjectStore, now: Date): Promise<Check[]> {
  const lists = await Promise.all(WATCHED.map((resource) => store.list(resource)));
  const late = lists
    .flatMap(({ items }) => items)
    .filter(({ metadata }) => now.getTime() - Date.parse(metadata.deletionTimestamp ?? "") > STUCK_AFTER_MS);
  const explained = late
    .slice(0, MOST_STUCK)
    .map(async (item) => stuckCheck(item, await whyStays(store, item)));
  return [...(await Promise.all(explained)), ...late.slice(MOST_STUCK).map((item) => stuckCheck(item))];
}

function stuckCheck(item: KubeObject, why?: Finding): Check {
  const { deletionTimestamp, finalizers, namespace, name: own } = item.metadata;
  const subject = `${item.kind} ${name(item)}`;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  const held = `is being deleted since ${deletionTimestamp}, held by ${finalizers?.join(", ") || "its process"}`;
  const cause =
    why === undefined ? "" : `; ${why.subject === subject ? "" : `${why.subject} `}${why.message}`;
  return check(
    subject,
    "fail",
    `${held}${cause}`,
    why?.next ?? `mooring why ${item.kind.toLowerCase()}/${own}${where}`,
  );
}

async function errors(store: ObjectStore): Promise<Check[]> {
  const volumes = (await store.list(Volumes)).items;
  const snapshots = (await store.list(Snapshots)).items;
  const groups = (await store.list(GroupSnapshots)).items;
  const shares = (await store.list(ShareManagers)).items;
  return [...volumes, ...snapshots, ...groups, ...shares].flatMap((item) => {
    const error = item.status?.error;
    if (error === undefined) return [];
    // A share has the name of its volume, which is reported.
    const kind = item.kind === ShareManagers.kind ? Volumes.kind : item.kind;
    const target = `${kind.toLowerCase()}/${item.metadata.name}`;
    return [
      check(
        `${item.kind} ${item.metadata.name}`,
        "fail",
        `${error.code}: ${error.message}`,
        `mooring why ${target}`,
      ),
    ];
  });
}

/** Nodes whose way to a shared volume is neither trusted nor encrypted. */
async function untrusted(store: ObjectStore): Promise<Check[]> {
  const shares = (await store.list(ShareManagers)).items;
  return shares.flatMap(({ metadata: { name: volume }, status }) =>
    (status?.untrusted ?? []).map(({ nodeID, refused, message }) =>
      check(
        `Volume ${volume} on ${nodeID}`,
        refused ? "fail" : "warn",
        refused ? message : `${message}; it was let in before, and stays in until its workloads end`,
        `mooring why volume/${volume}`,
      ),
    ),
  );
}

async function drift(store: ObjectStore): Promise<Check[]> {
  const volumes = new Set((await store.list(Volumes)).items.map(({ metadata }) => metadata.name));
  const attachments = (await store.list(VolumeAttachments)).items;
  return attachments
    .filter(({ spec }) => !volumes.has(spec.volume))
    .map(({ metadata, spec }) =>
      check(`VolumeAttachment ${metadata.name}`, "fail", `names volume ${spec.volume}, which does not exist`),
    );
}

/** Tickets that have waited for long: most often an operator forgot theirs. */
async function waits(store: ObjectStore, now: Date): Promise<Check[]> {
  const attachments = (await store.list(VolumeAttachments)).items;
  return attachments.flatMap(({ spec, status }) =>
    Object.values(status?.attachmentTicketStatuses ?? {}).flatMap(({ id, satisfied, conditions }) => {
      const [condition] = conditions;
      const since = Date.parse(condition?.lastTransitionTime ?? "");
      if (satisfied || condition === undefined || !(now.getTime() - since > STUCK_AFTER_MS)) return [];
      const what = `has waited since ${condition.lastTransitionTime}: ${condition.message}`;
      return [check(`Ticket ${spec.volume}/${id}`, "warn", what, `mooring why volume/${spec.volume}`)];
    }),
  );
}

function agentCheck(agent: NodeAgent): Check {
  const { metadata, status } = agent;
  const silent = silentPoolsMessage(agent);
  const ok = status?.state === "Ready" && silent === undefined;
  return check(`NodeAgent ${metadata.name}`, ok ? "ok" : "fail", silent ?? status?.state ?? "never seen");
}

async function parts(store: ObjectStore): Promise<Check[]> {
  const { items } = await store.list(Pools);
  const pools = await Promise.all(
    items.map(async (pool) => poolCheck(pool, await endItsPods({ store }, pool))),
  );
  const agents = (await store.list(NodeAgents)).items.map(agentCheck);
  const nodes = (await store.list(Nodes)).items.map(({ metadata, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return check(
      `Node ${metadata.name}`,
      ready?.status === "True" ? "ok" : "fail",
      ready?.message ?? "not ready",
    );
  });
  return [...nodes, ...agents, ...pools];
}

/**
 * Everything about the objects: parts that are not ready, errors, stuck deletions, records without a counterpart, and kinds
 * that the cluster does not have.
 */
export async function objectChecks(server: ObjectStore, now: Date): Promise<Check[]> {
  const { missing, store } = withoutMissingKinds(server);
  const found = [
    ...(await errors(store)),
    ...(await untrusted(store)),
    ...(await drift(store)),
    ...(await stuck(store, now)),
    ...(await waits(store, now)),
    ...(await ticketChecks(store, now)),
    ...(await jobChecks(store)),
    ...(await remountChecks(store)),
    ...(await workloadChecks(store, now)),
  ];
  const none = check("objects", "ok", "no error, nothing stuck, no drift");
  const all = [...(await parts(store)), ...(found.length === 0 ? [none] : found)];
  const claims = await claimsByHandle(store);
  const named = all.map((each) => ({ ...each, check: withClaim(each.check, claims) }));
  return [...named, ...missingKindChecks(missing)];
}
