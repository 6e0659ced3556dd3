import { DRIVER_NAME, VolumeAttachments, Volumes } from "@mooring/engine";
import {
  getIfAny,
  isNotFound,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
} from "@mooring/store";
import { type NamespacedOptions, openNamespace } from "../client/client.ts";
import { isKindMissing } from "../output/api-refusal.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** The server, and the handle of the volume that an operator names: see {@link handleOf}. */
export async function openVolume(
  options: NamespacedOptions,
  given: string,
): Promise<{ store: ObjectStore; volume: string }> {
  const { store, namespace } = await openNamespace(options);
  return { store, volume: await handleOf(store, namespace, given) };
}

/**
 * The handle of a volume that an operator names: by itself, as `NAMESPACE/CLAIM`, or as a claim of `namespace`. Throws a
 * CommandError when there is none.
 */
export async function handleOf(store: ObjectStore, namespace: string, given: string): Promise<string> {
  const [first = "", second, ...rest] = given.split("/");
  if (rest.length > 0 || first === "" || second === "")
    throw new CommandError(`${JSON.stringify(given)} names no volume`, {
      next: "name it as VOLUME, CLAIM or NAMESPACE/CLAIM; see: mooring volume list",
    });
  if (second !== undefined) return handleOfClaim(store, first, second);
  // Its tickets may be left of a volume.
  if ((await isThere(store, Volumes, given)) || (await isThere(store, VolumeAttachments, given)))
    return given;
  return handleOfClaim(store, namespace, given, `volume "${given}" does not exist, and `);
}

async function isThere(store: ObjectStore, resource: Resource, name: string): Promise<boolean> {
  try {
    await store.get(resource, { name });
    return true;
  } catch (error) {
    if (!isNotFound(error) || isKindMissing(error)) throw error;
    return false;
  }
}

async function handleOfClaim(
  store: ObjectStore,
  namespace: string,
  name: string,
  before = "",
): Promise<string> {
  const subject = `${namespace}/${name}`;
  const claim = await getIfAny(store, PersistentVolumeClaims, { namespace, name });
  if (claim === undefined)
    throw noVolume(`${before}claim ${subject} does not exist`, "see those that do: mooring volume list");
  const volume = claim.spec?.volumeName ?? "";
  if (volume === "")
    throw noVolume(`${before}claim ${subject} has no volume yet`, `mooring why pvc/${name} -n ${namespace}`);
  const { csi } = (await getIfAny(store, PersistentVolumes, { name: volume }))?.spec ?? {};
  if (csi?.driver === DRIVER_NAME) return csi.volumeHandle;
  const whose = csi === undefined ? "no driver's" : `one of ${csi.driver}`;
  throw noVolume(
    `${before}the volume of claim ${subject} is ${whose}, not Mooring's`,
    `mooring why pvc/${name} -n ${namespace}`,
  );
}

function noVolume(message: string, next: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.negative, next });
}
