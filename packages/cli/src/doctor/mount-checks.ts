import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "@mooring/engine";
import { type ObjectStore, PersistentVolumeClaims, PersistentVolumes, Pods } from "@mooring/store";
import { claimNames } from "../why/claim-names.ts";
import { type Check, check } from "./check.ts";

/**
 * Volumes of running pods that are not mounted where the kubelet of this machine has mounted them: something else took the mount
 * away. Nothing else notices: programs that have a file open go on with the old mount, new ones see an empty folder.
 */
export async function mountChecks(store: ObjectStore, host: Host, stateDir: string): Promise<Check[]> {
  const mounted = new Set((await host.mounts.list()).map(({ target }) => target));
  const [pods, claims, volumes] = await Promise.all([
    store.list(Pods),
    store.list(PersistentVolumeClaims),
    store.list(PersistentVolumes),
  ]);
  const volumeOf = new Map(
    claims.items.map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec?.volumeName]),
  );
  const isMounted = new Set(
    volumes.items
      .filter(({ spec }) => spec?.csi !== undefined && spec.volumeMode !== "Block")
      .map(({ metadata }) => metadata.name),
  );
  const found: Check[] = [];
  for (const pod of pods.items) {
    const { name, namespace = "default", uid = "", deletionTimestamp } = pod.metadata;
    if (pod.status?.phase !== "Running" || deletionTimestamp !== undefined) continue;
    const folder = join(stateDir, "kubelet", "pods", uid, "volumes", "kubernetes.io~csi");
    for (const claim of claimNames(pod)) {
      const volume = volumeOf.get(`${namespace}/${claim}`) ?? "";
      const target = join(folder, volume, "mount");
      if (!isMounted.has(volume) || mounted.has(target) || !(await exists(join(folder, volume)))) continue;
      const what = `claim ${claim} is not mounted at ${target}: it was unmounted while the pod runs, and not by the kubelet`;
      const next = `delete the pod, and it is mounted anew: kubectl delete pod -n ${namespace} ${name}`;
      found.push(check(`Pod ${namespace}/${name}`, "fail", what, next));
    }
  }
  return found;
}

/** Pods of other machines have no folder here. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
