import { apiVersionOf, defined, type PersistentVolume, type PersistentVolumeClaim } from "@mooring/store";
import {
  type VolumeGroup,
  type VolumeGroupClass,
  VolumeGroupClasses,
  type VolumeGroupContent,
  VolumeGroupContents,
  VolumeGroups,
} from "../../kube/volume-group.ts";
import { claim, DRIVER, persistentVolume } from "../../testing/objects.ts";

/** Objects of volume groups for tests. */

export function volumeGroup(
  name: string,
  spec: Partial<VolumeGroup["spec"]> = {},
  metadata: Partial<VolumeGroup["metadata"]> = {},
): VolumeGroup {
  const source = { selector: { matchLabels: { app: name } } };
  return {
    apiVersion: apiVersionOf(VolumeGroups),
    kind: "VolumeGroup",
    metadata: { name, namespace: "default", uid: `uid-${name}`, generation: 1, ...metadata },
    spec: { volumeGroupClassName: "groups", source, ...spec },
  };
}

/** A group that brings in the content. */
export function importedGroup(
  name: string,
  volumeGroupContentName: string,
  source: Partial<VolumeGroup["spec"]["source"]> = {},
): VolumeGroup {
  const { spec: _spec, ...rest } = volumeGroup(name);
  return { ...rest, spec: { source: { volumeGroupContentName, ...source } } };
}

export function volumeGroupClass(changes: Partial<VolumeGroupClass> = {}): VolumeGroupClass {
  return {
    apiVersion: apiVersionOf(VolumeGroupClasses),
    kind: "VolumeGroupClass",
    metadata: { name: "groups" },
    driver: DRIVER,
    deletionPolicy: "Delete",
    ...changes,
  };
}

export function volumeGroupContent(
  name: string,
  spec: Partial<VolumeGroupContent["spec"]> = {},
  metadata: Partial<VolumeGroupContent["metadata"]> = {},
  status?: VolumeGroupContent["status"],
): VolumeGroupContent {
  return {
    apiVersion: apiVersionOf(VolumeGroupContents),
    kind: "VolumeGroupContent",
    metadata: { name, uid: `uid-${name}`, ...metadata },
    spec: {
      driver: DRIVER,
      deletionPolicy: "Delete",
      volumeGroupRef: { name: "db", namespace: "default" },
      ...spec,
    },
    ...defined({ status }),
  };
}

/** A claim `name` that is bound to `pv-name` with the volume `vol-name`, and that volume. */
export function boundPair(
  name: string,
  labels: Record<string, string> = {},
  {
    namespace = "default",
    driver = DRIVER,
    annotations = {} as Record<string, string>,
    storageClassName = "fast",
  } = {},
): { claim: PersistentVolumeClaim; volume: PersistentVolume } {
  const uid = `uid-${namespace}-${name}`;
  const pv = `pv-${namespace}-${name}`;
  return {
    claim: claim(
      name,
      { volumeName: pv, storageClassName },
      { namespace, uid, labels, annotations },
      { phase: "Bound" },
    ),
    volume: persistentVolume(pv, {
      claimRef: { name, namespace, uid },
      csi: { driver, volumeHandle: handleOf(name, namespace) },
    }),
  };
}

export const handleOf = (name: string, namespace = "default"): string =>
  namespace === "default" ? `vol-${name}` : `vol-${namespace}-${name}`;
