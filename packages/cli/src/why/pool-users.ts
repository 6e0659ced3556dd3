import { DRIVER_NAME, hasFailedFilesystem, type Pool, Snapshots, Volumes } from "@mooring/engine";
import { PersistentVolumes, Pods } from "@mooring/store";
import { claimNames } from "./claim-names.ts";
import type { Reading } from "./context.ts";

/** The command that ends the pods which use a pool whose file system has failed; undefined where there is nothing to end. */
export async function endItsPods({ store }: Reading, pool: Pool): Promise<string | undefined> {
  if (!hasFailedFilesystem(pool)) return undefined;
  const claims = new Set(await claimsIn({ store }, pool));
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

/** The claims of a pool's volumes, as `namespace/name`. */
async function claimsIn({ store }: Reading, { metadata: { name } }: Pool): Promise<string[]> {
  const volumes = (await store.list(Volumes)).items.filter(({ spec }) => spec.pool === name);
  const handles = new Set(volumes.map(({ metadata }) => metadata.name));
  return (await store.list(PersistentVolumes)).items.flatMap(({ spec }) => {
    const { claimRef, csi } = spec ?? {};
    const isHere = csi?.driver === DRIVER_NAME && handles.has(csi.volumeHandle);
    return isHere && claimRef !== undefined ? [`${claimRef.namespace}/${claimRef.name}`] : [];
  });
}

/** What keeps a pool that is being deleted, and the commands that end it; undefined where nothing is in it. */
export async function whatKeeps(
  context: Reading,
  pool: Pool,
): Promise<{ message: string; next: string } | undefined> {
  const isIn = ({ spec }: { spec: { pool: string } }): boolean => spec.pool === pool.metadata.name;
  const volumes = (await context.store.list(Volumes)).items.filter(isIn);
  const snapshots = (await context.store.list(Snapshots)).items.filter(isIn);
  if (volumes.length + snapshots.length === 0) return undefined;
  const claims = (await claimsIn(context, pool)).map((key) => key.split("/"));
  const remove = claims.map(([namespace, name]) => `kubectl delete pvc -n ${namespace} ${name}`);
  return {
    message: `has ${count(volumes.length, "volume")} and ${count(snapshots.length, "snapshot")}, and goes when they have gone`,
    next:
      remove.length > 0
        ? remove.join("; ")
        : "mooring volume list, kubectl get snapshots.storage.mooring.dev",
  };
}

const count = (number: number, of: string): string => `${number} ${of}${number === 1 ? "" : "s"}`;
