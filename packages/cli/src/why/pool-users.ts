import { DRIVER_NAME, hasFailedFilesystem, type Pool, Volumes } from "@mooring/engine";
import { PersistentVolumes, Pods } from "@mooring/store";
import { claimNames } from "./claim-names.ts";
import type { Reading } from "./context.ts";

/** The command that ends the pods which use a pool whose file system has failed; undefined where there is nothing to end. */
export async function endItsPods({ store }: Reading, pool: Pool): Promise<string | undefined> {
  if (!hasFailedFilesystem(pool)) return undefined;
  const volumes = (await store.list(Volumes)).items.filter(({ spec }) => spec.pool === pool.metadata.name);
  const handles = new Set(volumes.map(({ metadata }) => metadata.name));
  const claims = new Set(
    (await store.list(PersistentVolumes)).items
      .filter(({ spec }) => spec?.csi?.driver === DRIVER_NAME && handles.has(spec.csi.volumeHandle))
      .map(({ spec }) => `${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`),
  );
  const users = new Map<string, string[]>();
  for (const pod of (await store.list(Pods)).items) {
    const { namespace = "default", name } = pod.metadata;
    const hasEnded = ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
    if (hasEnded || !claimNames(pod).some((claim) => claims.has(`${namespace}/${claim}`))) continue;
    users.set(namespace, [...(users.get(namespace) ?? []), name]);
  }
  const commands = [...users].map(
    ([namespace, names]) => `kubectl delete pod -n ${namespace} ${names.join(" ")}`,
  );
  return commands.length === 0 ? undefined : commands.join("; ");
}
