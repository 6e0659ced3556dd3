import type { Pod } from "@mooring/store";
import { type Context, lastWarning } from "./context.ts";
import { type Finding, finding, result } from "./finding.ts";

/** A pod that is being deleted. `claims`: those of it that are not well; what waits in a full pool, say, waits there as well. */
export async function explainPodDeletion(
  context: Context,
  pod: Pod,
  subject: string,
  claims: Finding[],
): Promise<Finding> {
  const { name, namespace, finalizers = [], deletionTimestamp = "" } = pod.metadata;
  const { deletionGracePeriodSeconds: grace = 0 } = pod.metadata;
  // Kubernetes writes when the grace ends, not when the deletion began.
  const end = Date.parse(deletionTimestamp);
  const since = `${new Date(end - grace * 1000).toISOString().slice(0, 19)}Z`;
  const children = claims;
  if (end > Date.now()) {
    const cause = `its containers have ${grace} s to end, until ${deletionTimestamp}${hooks(pod)}`;
    const next = `wait until then, or let it have less: kubectl delete pod -n ${namespace} ${name} --grace-period=1`;
    return finding("waiting", subject, `is being deleted since ${since}: ${cause}`, { next, children });
  }
  const warning = await lastWarning(context, pod, "FailedScheduling");
  const reason =
    finalizers.length === 0 ? "its node has not ended it yet" : `held by ${finalizers.join(", ")}`;
  const cause = warning === undefined ? reason : `${reason}; ${warning.reason}: ${warning.message}`;
  const next =
    finalizers.length === 0
      ? `see its node: mooring why node/${pod.spec?.nodeName ?? "NODE"}`
      : `the controller that set the finalizer has to remove it: kubectl get pod -n ${namespace} ${name} -o yaml`;
  return finding("waiting", subject, `is being deleted since ${since}: ${cause}`, {
    ...(children.some((claim) => result(claim) === "failed") ? {} : { next }),
    children,
  });
}

/** Hooks run within the grace, before a program learns that it has to end. */
function hooks({ spec }: Pod): string {
  const names = (spec?.containers ?? [])
    .filter(({ lifecycle }) => lifecycle?.preStop !== undefined)
    .map(({ name }) => name);
  return names.length === 0 ? "" : `; first the preStop hook runs in ${names.join(", ")}`;
}
