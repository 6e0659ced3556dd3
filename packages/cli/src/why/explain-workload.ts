import {
  CronJobs,
  Deployments,
  defined,
  Jobs,
  type KubeObject,
  Pods,
  ReplicaSets,
  type Resource,
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
    const { state, message } = workloadState(resource, object);
    const children = await parts(context, resource, object);
    if (state === "ok" || children.length > 0) return finding(state, subject, message, { children });
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
