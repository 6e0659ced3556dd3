import {
  defined,
  formatQuantity,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
} from "@mooring/store";

/** On the new PersistentVolume: the name that the image had. */
export const IMAGE = "storage.mooring.dev/imported-image";
/** On the new PersistentVolume: the claim that is made anew for it, as JSON. The old one has to go first, as it has the name. */
export const CLAIM = "storage.mooring.dev/imported-claim";
/** On the old PersistentVolume: its reclaim policy before the import. */
export const POLICY = "storage.mooring.dev/reclaim-policy-before-import";

/** Those that say of a claim what it is bound to, and how it came there. */
const OF_THE_OLD =
  /^(pv\.kubernetes\.io|volume(\.beta)?\.kubernetes\.io)\/|^kubectl\.kubernetes\.io\/last-applied-configuration$/;

/** The claim of the same name for another volume, as it is to be made. */
export function claimFor(
  { metadata, spec = {} }: PersistentVolumeClaim,
  { persistentVolume, storageClass, size }: { persistentVolume: string; storageClass: string; size: number },
): PersistentVolumeClaim {
  const { name, namespace, labels, ownerReferences, annotations = {} } = metadata;
  const kept = Object.entries(annotations).filter(([key]) => !OF_THE_OLD.test(key));
  const { accessModes, resources, volumeMode } = spec;
  const asked = resources?.requests?.["storage"];
  // A claim is bound to no smaller volume than it asks for.
  const storage =
    asked === undefined || parseQuantity(asked) > BigInt(size) ? formatQuantity(BigInt(size)) : asked;
  return {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
    metadata: {
      name,
      ...defined({ namespace, labels, ownerReferences }),
      ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
    },
    spec: {
      ...defined({ accessModes, volumeMode }),
      resources: { requests: { storage } },
      storageClassName: storageClass,
      volumeName: persistentVolume,
    },
  };
}

/** The claim that a PersistentVolume of ours is waiting for; undefined: none. */
export function claimOf({ metadata }: PersistentVolume): PersistentVolumeClaim | undefined {
  const text = metadata.annotations?.[CLAIM];
  return text === undefined ? undefined : (JSON.parse(text) as PersistentVolumeClaim);
}

/** The name that the image of a PersistentVolume of ours had. */
export function imageOf({ metadata }: PersistentVolume): string | undefined {
  return metadata.annotations?.[IMAGE];
}
