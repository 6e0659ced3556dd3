import { isDeepStrictEqual } from "node:util";
import { failpoint, isNotFound, mutate, Pods } from "@mooring/store";
import type { PodContext } from "./pod-controller.ts";
import type { PodView } from "./pod-view.ts";
import { podStatus } from "./status.ts";

const afterWrite = failpoint("standalone/kubelet/status-written");

/** Writes the pod's status when it is not what it should be. Others' conditions in it stay. */
export async function reportStatus({ store, node }: PodContext, podView: PodView): Promise<void> {
  const { pod } = podView;
  if (isDeepStrictEqual(podStatus(podView, node.address), pod.status)) return;
  try {
    await mutate(
      store,
      Pods,
      { namespace: pod.metadata.namespace ?? "", name: pod.metadata.name },
      (current) => {
        if (current.metadata.uid !== pod.metadata.uid) return current;
        const newest = { ...podView, pod: { ...pod, status: current.status ?? {} } };
        return { ...current, status: podStatus(newest, node.address) };
      },
      { subresource: "status" },
    );
    afterWrite();
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
