import type { Pod } from "@mooring/store";
import type { ContainerStatus, Runtime } from "../../runtime/index.ts";

/** Processes of a pod whose object is gone get this long; no client waits for them. */
const ORPHAN_GRACE_SECONDS = 5;

/**
 * Stands in for a pod that has no object (any more) but left something on this machine: containers, volumes, a folder
 * or logs. It is a pod that is being deleted. Undefined when nothing is left.
 */
export async function orphanedPod(
  runtime: Runtime,
  uid: string,
  attempts: readonly ContainerStatus[],
  hasFolder: boolean,
): Promise<Pod | undefined> {
  const logged = (await runtime.podsOnDisk()).find((pod) => pod.uid === uid);
  const owner = attempts[0]?.pod ?? logged;
  if (owner === undefined && !hasFolder) return undefined;
  const { namespace, name } = owner ?? { namespace: "unknown", name: uid };
  const names = [...new Set(attempts.map((each) => each.name))];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      uid,
      deletionTimestamp: new Date(0).toISOString(),
      deletionGracePeriodSeconds: ORPHAN_GRACE_SECONDS,
    },
    spec: { containers: names.map((container) => ({ name: container, image: "host" })) },
  };
}
