import {
  createHost,
  DRIVER_NAME,
  findOwnersGone,
  LEASE_IMAGE_LABEL,
  LEASE_NAMESPACE,
  ownerKinds,
  ShareManagers,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import {
  KubeVolumeAttachments,
  Leases,
  type ObjectStore,
  PersistentVolumes,
  type Resource,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";

/** A volume's image, whichever pool it is in. */
const IMAGE = /\/(v-[a-z0-9-]+)\.img$/;

/**
 * What is there for the sake of something that is gone: attachments, tickets, share managers and leases of volumes, and
 * loop devices of images in the folder.
 */
async function leftOver(store: ObjectStore, folder: string): Promise<string[]> {
  // First what depends: a volume that goes while we look must not make its own things look left over.
  const attachments = (await store.list(VolumeAttachments)).items;
  const shares = await names(store, ShareManagers);
  const leases = await imageLeases(store);
  const images = (await createHost().loops.list()).flatMap(({ backingFile, path }) => {
    const [, volume] = backingFile.startsWith(`${folder}/`) ? (IMAGE.exec(backingFile) ?? []) : [];
    return volume === undefined ? [] : [{ what: `device ${path}`, volume }];
  });
  const volumes = new Set(await names(store, Volumes));
  const theirs = (await store.list(KubeVolumeAttachments)).items.filter(
    (a) => a.spec.attacher === DRIVER_NAME,
  );
  const claimed = new Set(await names(store, PersistentVolumes));
  const found = [
    ...attachments.map(({ spec }) => ({ what: "VolumeAttachment", volume: spec.volume })),
    ...shares.map((volume) => ({ what: "ShareManager", volume })),
    ...leases,
    ...images,
  ];
  const lost = theirs.filter(({ spec }) => !claimed.has(spec.source.persistentVolumeName ?? ""));
  const tickets = attachments.map(async ({ spec }) => {
    const all = Object.values(spec.attachmentTickets ?? {});
    const gone = await findOwnersGone(store, all, ownerKinds(true), AbortSignal.timeout(60_000));
    return [...gone].map((id) => `ticket ${id} of volume ${spec.volume}, whose owner is gone`);
  });
  return [
    ...found
      .filter(({ volume }) => !volumes.has(volume))
      .map(({ what, volume }) => `${what} of volume ${volume}`),
    ...lost.map(({ metadata }) => `VolumeAttachment ${metadata.name} of Kubernetes`),
    ...(await Promise.all(tickets)).flat(),
  ];
}

async function names(store: ObjectStore, resource: Resource): Promise<string[]> {
  return (await store.list(resource)).items.map(({ metadata }) => metadata.name);
}

async function imageLeases(store: ObjectStore): Promise<{ what: string; volume: string }[]> {
  const selection = { namespace: LEASE_NAMESPACE, labelSelector: LEASE_IMAGE_LABEL };
  return (await store.list(Leases, selection)).items.map(({ metadata }) => ({
    what: `Lease ${metadata.name}`,
    volume: metadata.labels?.[LEASE_IMAGE_LABEL] ?? "",
  }));
}

/**
 * The last thing that a suite asks of a cluster, whatever its tests did: nothing outlives the volume that it was for. Waits
 * for deletions that are under way.
 */
export async function nothingLeftOver(store: ObjectStore, folder: string): Promise<void> {
  let last: string[] = [];
  await eventually("nothing of deleted volumes to be left", async () => {
    last = await leftOver(store, folder);
    return last.length === 0;
  }).catch((cause: unknown) => {
    throw new Error(`left over: ${last.join("; ")}`, { cause });
  });
}
