import {
  type Collection,
  keyOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  parseQuantity,
} from "@mooring/store";
import { uniqueVolumeName } from "../../controllers/attach-detach/names.ts";
import { claimNameOf } from "../../controllers/pod-claims.ts";

/** A volume of a pod's spec. */
export type PodVolume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

/** A pod's volume, traced to the CSI volume behind it. */
export interface CsiVolume {
  /** `kubernetes.io/csi/DRIVER^HANDLE`: the same for all pods. */
  key: string;
  /** Its name in the pod. */
  name: string;
  driver: string;
  handle: string;
  /** Name of the PersistentVolume; in the pod where it has none. */
  volume: string;
  /** namespace/name; empty where it is no claim's. */
  claim: string;
  block: boolean;
  readOnly: boolean;
  /** It is made for this pod, and goes with it. */
  ephemeral: boolean;
}

/** Why a volume cannot be traced. */
export interface Problem {
  problem: string;
}

/** What is read, from caches or through a reader. */
export interface ClaimCaches {
  claims: Collection<PersistentVolumeClaim>;
  volumes: Collection<PersistentVolume>;
}

/** Undefined when the volume is no claim at all. */
export function traceClaim(
  view: ClaimCaches,
  pod: Pod,
  podVolume: PodVolume,
): CsiVolume | Problem | undefined {
  const name = claimNameOf(pod, podVolume);
  if (name === undefined) return undefined;
  const claim = view.claims.get(`${pod.metadata.namespace}/${name}`);
  if (claim === undefined) return { problem: `persistentvolumeclaim "${name}" not found` };
  const volume = view.volumes.get(claim.spec?.volumeName ?? "");
  if (volume === undefined || claim.status?.phase !== "Bound")
    return { problem: `PVC ${keyOf(claim)} is not bound` };
  if (volume.spec?.claimRef?.uid !== claim.metadata.uid) {
    return { problem: `PV ${volume.metadata.name} is bound to another claim than ${keyOf(claim)}` };
  }
  const csi = volume.spec?.csi;
  if (csi === undefined)
    return { problem: `PV ${volume.metadata.name} is not a CSI volume; only those can be mounted here` };
  return {
    key: uniqueVolumeName(csi.driver, csi.volumeHandle),
    name: podVolume.name,
    driver: csi.driver,
    handle: csi.volumeHandle,
    volume: volume.metadata.name,
    claim: keyOf(claim),
    block: volume.spec?.volumeMode === "Block",
    readOnly: csi.readOnly === true || podVolume.persistentVolumeClaim?.readOnly === true,
    ephemeral: false,
  };
}

/** The controller has made the volume larger than the claim reports: the node's part is still to be done. */
export function expansionOf(
  claim: PersistentVolumeClaim | undefined,
  volume: PersistentVolume | undefined,
): bigint | undefined {
  const before = claim?.status?.capacity?.storage;
  const after = volume?.spec?.capacity?.storage;
  if (before === undefined || after === undefined || claim?.metadata.uid !== volume?.spec?.claimRef?.uid)
    return undefined;
  const pending =
    (claim?.status?.conditions ?? []).some(
      ({ type, status }) => type === "FileSystemResizePending" && status === "True",
    ) ||
    ["NodeResizePending", "NodeResizeInProgress"].includes(
      claim?.status?.allocatedResourceStatuses?.storage ?? "",
    );
  const wanted = parseQuantity(after);
  return pending && wanted > parseQuantity(before) ? wanted : undefined;
}
