import { VolumeGroupReverts } from "@mooring/engine";
import { VolumeGroupClones, VolumeGroupRestores, VolumeGroups } from "@mooring/sidecars";
import {
  Deployments,
  Jobs,
  type KubeObject,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  StatefulSets,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import { fullClaims } from "../client/claim-room.ts";
import { hasLostMounts } from "../why/explain-lost-mounts.ts";
import { causes, type Finding, type FindingState, finding, result } from "../why/finding.ts";
import { contextOf, explainerOf } from "../why/kinds.ts";
import { workloadState } from "../why/workload-state.ts";
import { type Check, check } from "./check.ts";

/** What is under way takes a moment: only what has not got further for so long is reported. */
const SLOW_AFTER_MS = 60_000;
/** One cause may delay hundreds of objects: so many are reported one by one, the rest as a number. */
const MOST = 50;
/** A group may have a fault in each of a hundred members. */
const MOST_FAULTS = 5;

interface Suspects {
  resource: Resource;
  /** As `mooring why` calls the kind. */
  kind: string;
  /** Whether it is worth the reads of an explanation. */
  suspect(object: KubeObject, now: Date): boolean;
}

const phaseOf = (object: KubeObject): string =>
  (object as { status?: { phase?: string } }).status?.phase ?? "Pending";
const isReady = (object: KubeObject): boolean =>
  (object as { status?: { readyToUse?: boolean } }).status?.readyToUse === true;
interface TypedCondition {
  type: string;
  status: string;
  lastTransitionTime?: string;
}
const conditionsOf = (object: KubeObject): readonly TypedCondition[] =>
  (object as { status?: { conditions?: TypedCondition[] } }).status?.conditions ?? [];
const isPodReady = (pod: KubeObject): boolean =>
  conditionsOf(pod).some(({ type, status }) => type === "Ready" && status === "True");
const hasRestarted = (pod: KubeObject): boolean =>
  (
    (pod as { status?: { containerStatuses?: { restartCount?: number }[] } }).status?.containerStatuses ?? []
  ).some(({ restartCount = 0 }) => restartCount > 1);
const hasTrouble = (object: KubeObject): boolean =>
  conditionsOf(object).some(({ type, status }) => status === "True" && /Error$|Resiz/.test(type));

/** Every change of members, and every snapshot, takes a moment. */
const isUnsettled = (group: KubeObject, now: Date): boolean => {
  const conditions = conditionsOf(group);
  return (
    conditions.length === 0 ||
    conditions.some(
      ({ lastTransitionTime = "", status, type }) =>
        (type === "Degraded" && status === "True") ||
        ((type === "Ready" || type === "MembersSynced") &&
          status !== "True" &&
          !(now.getTime() - Date.parse(lastTransitionTime) < SLOW_AFTER_MS)),
    )
  );
};

/** `full`: claims without room, as `namespace/name`. */
const suspects = (full: ReadonlySet<string>): readonly Suspects[] => [
  {
    resource: Pods,
    kind: "pod",
    suspect: (pod) =>
      ["Pending", "Failed"].includes(phaseOf(pod)) ||
      (phaseOf(pod) === "Running" && (!isPodReady(pod) || hasRestarted(pod) || hasLostMounts(pod))),
  },
  {
    resource: PersistentVolumeClaims,
    kind: "pvc",
    suspect: (claim) =>
      phaseOf(claim) !== "Bound" ||
      hasTrouble(claim) ||
      full.has(`${claim.metadata.namespace}/${claim.metadata.name}`),
  },
  { resource: PersistentVolumes, kind: "pv", suspect: (pv) => ["Released", "Failed"].includes(phaseOf(pv)) },
  { resource: VolumeSnapshots, kind: "volumesnapshot", suspect: (snapshot) => !isReady(snapshot) },
  { resource: VolumeGroupSnapshots, kind: "volumegroupsnapshot", suspect: (group) => !isReady(group) },
  {
    resource: VolumeGroupRestores,
    kind: "volumegrouprestore",
    suspect: (restore) => phaseOf(restore) !== "Ready",
  },
  {
    resource: VolumeGroupReverts,
    kind: "volumegrouprevert",
    suspect: (revert) => phaseOf(revert) !== "Complete",
  },
  { resource: VolumeGroupClones, kind: "volumegroupclone", suspect: (clone) => phaseOf(clone) !== "Ready" },
  { resource: VolumeGroups, kind: "volumegroup", suspect: isUnsettled },
  // Their pods are reported; here it is those of which none could be made.
  ...[Deployments, StatefulSets, Jobs].map((resource) => ({
    resource,
    kind: resource.kind.toLowerCase(),
    suspect: (object: KubeObject) => workloadState(resource, object).state !== "ok",
  })),
];

/** What users made and do not have: pods, claims, snapshots, groups, restores that fail, or wait for longer than they should. */
export async function workloadChecks(store: ObjectStore, now: Date): Promise<Check[]> {
  const full = new Set((await fullClaims(store)).map(({ namespace, claim }) => `${namespace}/${claim}`));
  return (await Promise.all(suspects(full).map((each) => checksOf(store, each, now)))).flat();
}

async function checksOf(
  store: ObjectStore,
  { kind, resource, suspect }: Suspects,
  now: Date,
): Promise<Check[]> {
  const { items } = await store.list(resource);
  const found: Check[] = [];
  const seen = items.filter((object) => suspect(object, now));
  for (const object of seen.slice(0, MOST)) found.push(...(await checkOf(store, kind, object, now)));
  if (seen.length > MOST) {
    const what = `${seen.length - MOST} more that are not ready were not checked one by one`;
    found.push(check(resource.kind, "warn", what, `kubectl get ${resource.plural} -A`));
  }
  return found;
}

async function checkOf(store: ObjectStore, kind: string, object: KubeObject, now: Date): Promise<Check[]> {
  const { name, namespace } = object.metadata;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  const next = `mooring why ${kind}/${name}${where}`;
  const root = await explainerOf(kind)?.(contextOf(store), namespace ?? "", name).catch((error: Error) =>
    // One object that cannot be explained keeps nothing else from being checked.
    finding("failed", `${object.kind} ${name}`, `cannot be explained: ${error.message}`),
  );
  if (root === undefined) return [];
  const state = result(root);
  const isNew = now.getTime() - Date.parse(object.metadata.creationTimestamp ?? "") < SLOW_AFTER_MS;
  if (state === "ok" || (state === "waiting" && isNew)) return [];
  const severity = state === "failed" ? "fail" : "warn";
  const found = faultsOf(root, state);
  const checks = found
    .slice(0, MOST_FAULTS)
    .map((cause) => check(root.subject, severity, detailOf(root, cause), cause.next ?? next));
  if (found.length > MOST_FAULTS)
    checks.push(check(root.subject, severity, `${found.length - MOST_FAULTS} more faults`, next));
  return checks;
}

/** Every fault of an object once: what only waits is one where nothing has failed. */
function faultsOf(root: Finding, state: FindingState): Finding[] {
  const found = causes(root).filter((cause) => cause.state === state);
  const each = new Map((found.length === 0 ? [root] : found).map((cause) => [detailOf(root, cause), cause]));
  return [...each.values()];
}

const detailOf = (root: Finding, cause: Finding): string =>
  cause === root ? root.message : `${cause.subject}: ${cause.message}`;

/** Why an object is not deleted yet, as `mooring why` explains it; undefined where that knows nothing of its kind. */
export async function whyStays(store: ObjectStore, object: KubeObject): Promise<Finding | undefined> {
  const { name, namespace = "" } = object.metadata;
  const root = await explainerOf(object.kind)?.(contextOf(store), namespace, name).catch(() => undefined);
  if (root === undefined || result(root) === "ok") return undefined;
  return root.state === "ok" ? causes(root)[0] : root;
}
