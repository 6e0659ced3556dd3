import { isDeepStrictEqual } from "node:util";
import { failpoint, isNotFound, mutate, Pods } from "@mooring/store";
import type { PodContext } from "./context.ts";
import type { PodView } from "./pod-view.ts";
import { podStatus } from "./status.ts";

const afterWrite = failpoint("standalone/kubelet/status-written");

/** True when the pod's object does not have the status that it should have. */
export function isStatusDue(podView: PodView, address: string): boolean {
  const status = podStatus(podView, address);
  if (isDeepStrictEqual(status, podView.pod.status)) return false;
  // A field that is there and undefined is not there for a reader of the JSON.
  return !isDeepStrictEqual(JSON.parse(JSON.stringify(status)), podView.pod.status);
}

/**
 * Writes the pod's status when it is not what it should be. Others' conditions in it stay. `patient`: with the next other
 * write, or a moment later.
 */
export async function reportStatus(
  { store, node, pods }: PodContext,
  podView: PodView,
  { patient = false } = {},
): Promise<void> {
  const { pod } = podView;
  if (!isStatusDue(podView, node.address)) return;
  try {
    const written = await mutate(
      store,
      Pods,
      { namespace: pod.metadata.namespace ?? "", name: pod.metadata.name },
      {
        change: (current) => {
          if (current.metadata.uid !== pod.metadata.uid) return current;
          const newest = { ...podView, pod: { ...pod, status: current.status ?? {} } };
          return { ...current, status: podStatus(newest, node.address) };
        },
        ...{ subresource: "status", patient },
      },
    );
    pods.wrote(written);
    afterWrite();
  } catch (error) {
    if (!isNotFound(error)) throw error;
    pods.gone(pod);
  }
}
