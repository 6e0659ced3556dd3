import { VOLUMES_MOUNTED } from "@mooring/engine";
import { type Pod, Pods } from "@mooring/store";
import type { Reading } from "./context.ts";
import { type Finding, finding } from "./finding.ts";

/** What the node reports of volumes that somebody has unmounted under the pod. `claim`: of this one only. */
export function explainLostMounts(pod: Pod, claim?: string): Finding[] {
  const { name, namespace = "default" } = pod.metadata;
  const lost = lostMounts(pod).filter(
    (clause) => claim === undefined || clause.startsWith(`claim ${claim} `),
  );
  const next = `delete the pod, and it is mounted anew: kubectl delete pod -n ${namespace} ${name}`;
  return lost.map((clause) => finding("failed", `volumes of Pod ${namespace}/${name}`, clause, { next }));
}

/** Whether a volume was unmounted under the pod. */
export const hasLostMounts = (pod: Pod): boolean => lostMounts(pod).length > 0;

/** The same of every pod that uses the claim. */
export async function lostMountsOf({ store }: Reading, namespace: string, claim: string): Promise<Finding[]> {
  const { items } = await store.list(Pods, { namespace });
  return items.flatMap((pod) => explainLostMounts(pod, claim));
}

function lostMounts({ metadata, status }: Pod): string[] {
  if (metadata.deletionTimestamp !== undefined || status?.phase !== "Running") return [];
  const lost = status.conditions?.find(({ type }) => type === VOLUMES_MOUNTED);
  return lost?.status === "False" ? (lost.message ?? "").split("; ") : [];
}
