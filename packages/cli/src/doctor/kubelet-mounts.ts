import { join, relative } from "node:path";
import type { ExplainMount } from "@mooring/engine";
import { type ObjectStore, Pods } from "@mooring/store";

/** The kubelet's mounts: the containers' root, and the volumes of pods that exist. */
export async function kubeletMounts(store: ObjectStore, stateDir: string): Promise<ExplainMount> {
  const kubelet = join(stateDir, "kubelet");
  const pods = new Set((await store.list(Pods)).items.map(({ metadata }) => metadata.uid));
  return ({ target }) => {
    if (target.startsWith(join(kubelet, "runtime", "base"))) return true;
    const [folder, uid] = relative(kubelet, target).split("/");
    return folder === "pods" && pods.has(uid);
  };
}
