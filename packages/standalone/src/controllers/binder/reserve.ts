import type { PersistentVolume, PersistentVolumeClaim } from "@mooring/store";
import { defined } from "@mooring/store";
import * as names from "./names.ts";

/** A copy of the object with more annotations. */
export function annotated<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
  more: Record<string, string>,
): T {
  const annotations = { ...object.metadata.annotations, ...more };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** The volume with a reference to the claim; marked as ours to take back unless an operator made it. */
export function reserved(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const claimRef = {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    name,
    ...defined({ namespace, uid, resourceVersion }),
  };
  const next = { ...volume, spec: { ...volume.spec, claimRef } };
  return volume.spec?.claimRef === undefined ? annotated(next, { [names.BOUND_BY_CONTROLLER]: "yes" }) : next;
}
