import type { Pod } from "@mooring/store";
import { type Context, lastWarning } from "./context.ts";
import { type Finding, finding } from "./finding.ts";

/**
 * A pod whose containers were stopped with Mooring, or with its machine, and have not begun again: it is Running by its phase,
 * and how its programs ended is no cause. What went wrong since then is; undefined for other pods.
 */
export async function explainStopped(context: Context, pod: Pod): Promise<Finding | undefined> {
  const stopped = stoppedAt(pod);
  if (stopped === undefined) return undefined;
  const { name, namespace = "default" } = pod.metadata;
  const subject = `containers of Pod ${namespace}/${name}`;
  const what = "were stopped with Mooring or the machine, and have not begun again";
  const warning = await lastWarning(context, pod);
  // Of what went wrong before nothing is known to be so still.
  if (warning === undefined || !(Date.parse(String(warning.lastTimestamp)) >= stopped))
    return finding("waiting", subject, what, { next: `kubectl describe pod -n ${namespace} ${name}` });
  return finding("failed", subject, `${what}: ${warning.reason}: ${warning.message}`, {
    next: `put right what it says, and it starts by itself: kubectl describe pod -n ${namespace} ${name}`,
  });
}

/** When the last of its containers was stopped; undefined while one of them runs, or has ended in another way. */
function stoppedAt({ status }: Pod): number | undefined {
  const { containerStatuses = [], phase } = status ?? {};
  if (phase !== "Running" || containerStatuses.length === 0) return undefined;
  const ended = containerStatuses.map(({ state }) => state?.terminated);
  if (!ended.every((each) => each?.reason === "Shutdown")) return undefined;
  return Math.max(...ended.map((each) => Date.parse(String(each?.finishedAt))));
}
