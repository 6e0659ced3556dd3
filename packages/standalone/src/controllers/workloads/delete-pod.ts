import { isNotFound, type ObjectStore, type Pod, Pods, type WrittenCache } from "@mooring/store";

/** Deletes exactly this pod; false when it was gone already. Its processes have their time to end. */
export async function deletePod(store: ObjectStore, pods: WrittenCache<Pod>, pod: Pod): Promise<boolean> {
  const { name, namespace = "", uid = "" } = pod.metadata;
  try {
    const left = await store.delete(Pods, { namespace, name }, { preconditions: { uid } });
    // A node still has it: it is there until its processes have ended.
    if ((left.metadata.deletionGracePeriodSeconds ?? 0) > 0) pods.wrote(left);
    else pods.deleted(left);
    return true;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    pods.gone(pod);
    return false;
  }
}
