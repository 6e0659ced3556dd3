import {
  CronJobs,
  Deployments,
  defined,
  Jobs,
  type KubeObject,
  Pods,
  ReplicaSets,
  type Resource,
  type StatefulSet,
  StatefulSets,
} from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { explainAny } from "./explain-any.ts";
import { explainPod } from "./explain-pod.ts";
import { type Finding, finding, result } from "./finding.ts";
import { type WorkloadState, workloadState } from "./workload-state.ts";

/** Of the pods that are not well so many are explained: they most often have one cause. */
const MOST = 5;

/** What each kind makes, and how one of those is explained. */
const PARTS: ReadonlyMap<Resource, readonly [Resource, typeof explainPod]> = new Map<
  Resource,
  readonly [Resource, typeof explainPod]
>([
  [Deployments, [ReplicaSets, workloadExplainer(ReplicaSets)]],
  [CronJobs, [Jobs, workloadExplainer(Jobs)]],
  ...[ReplicaSets, StatefulSets, Jobs].map((kind) => [kind, [Pods, explainPod]] as const),
]);

/** Explains a Deployment, ReplicaSet, StatefulSet, Job or CronJob: how far it is, and which of its pods keep it from getting further. */
export function workloadExplainer(resource: Resource): typeof explainPod {
  return async (context, namespace, name) => {
    const subject = `${resource.kind} ${namespace}/${name}`;
    const object = await read(context, resource, { namespace, name });
    if (object === undefined || object.metadata.deletionTimestamp !== undefined)
      return explainAny(context, resource, { namespace, name });
    const { state, message, next } = workloadState(resource, object);
    const children = await parts(context, resource, object);
    if (resource === StatefulSets && state !== "ok")
      children.push(...(await othersInPlace(context, object as StatefulSet)));
    if (state === "ok" || next !== undefined || children.length > 0)
      return finding(state, subject, message, { children, ...defined({ next }) });
    return withoutParts(context, object, subject, { state, message });
  };
}

/** What it has made, and what of that is not well. */
async function parts(context: Context, resource: Resource, owner: KubeObject): Promise<Finding[]> {
  const [kind, explain] = PARTS.get(resource) ?? [];
  if (kind === undefined || explain === undefined) return [];
  const { namespace = "default", uid } = owner.metadata;
  const { items } = await context.store.list(kind, { namespace });
  const own = items.filter(({ metadata }) => metadata.ownerReferences?.some((each) => each.uid === uid));
  const findings: Finding[] = [];
  for (const { metadata } of own) {
    if (findings.length === MOST) break;
    const found = await explain(context, namespace, metadata.name);
    if (result(found) !== "ok") findings.push(found);
  }
  return findings;
}

/** Pods of others that have the name of one that the set has to make. */
async function othersInPlace(context: Context, { metadata, spec }: StatefulSet): Promise<Finding[]> {
  const { name, namespace = "default", uid } = metadata;
  const { replicas = 1, ordinals, selector } = spec ?? {};
  const labels = Object.entries(selector?.matchLabels ?? {});
  const first = ordinals?.start ?? 0;
  // The set may want a billion replicas: what is there is counted, not what is wanted.
  const isOfSet = (pod: string): boolean => {
    const ordinal = pod.startsWith(`${name}-`) ? pod.slice(name.length + 1) : "";
    return /^(0|[1-9]\d*)$/.test(ordinal) && Number(ordinal) >= first && Number(ordinal) < first + replicas;
  };
  const { items } = await context.store.list(Pods, { namespace });
  const others = items.filter((pod) => {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    // One without an owner, with the set's labels, is adopted.
    const isAdopted =
      owner === undefined && labels.every(([key, value]) => pod.metadata.labels?.[key] === value);
    return isOfSet(pod.metadata.name) && owner?.uid !== uid && !isAdopted;
  });
  return others.slice(0, MOST).map((pod) => {
    const message = `pod ${pod.metadata.name} is somebody else's, and the set cannot make its own of that name`;
    const next = `see whose it is, and delete it: kubectl describe pod -n ${namespace} ${pod.metadata.name}`;
    return finding("failed", `Pod ${namespace}/${pod.metadata.name}`, message, { next });
  });
}

/** Nothing of it is there that could be the reason: it has not been made, and the last warning has why. */
async function withoutParts(
  context: Context,
  object: KubeObject,
  subject: string,
  { state, message }: WorkloadState,
): Promise<Finding> {
  const { namespace, name } = object.metadata;
  const warning = await lastWarning(context, object);
  const why = warning === undefined ? message : `${message}: ${warning.reason}: ${warning.message}`;
  const isRefused = warning?.reason?.startsWith("Failed") === true;
  return finding(isRefused ? "failed" : state, subject, why, {
    ...defined({
      next:
        isRefused || state === "failed"
          ? `put right what it says, and it goes on by itself: kubectl describe ${object.kind?.toLowerCase()} -n ${namespace} ${name}`
          : undefined,
    }),
  });
}
