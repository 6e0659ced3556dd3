import { type KubeObject, type ObjectStore, PersistentVolumeClaims } from "@mooring/store";
import { STORAGE_PROVISIONER } from "../../../packages/sidecars/src/common/names.ts";
import { DRIVER } from "../../../packages/sidecars/src/testing/objects.ts";
import { MEMBERS, type Sizes } from "./sizes.ts";

const NAMESPACE = "default";

export const claims = ({ claims: length }: Sizes): KubeObject[] =>
  Array.from({ length }, (_, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: `claim-${index}`,
      namespace: NAMESPACE,
      labels: { group: `${Math.floor(index / MEMBERS)}` },
      // As kube-controller-manager writes it before a provisioner sees to the claim.
      annotations: { [STORAGE_PROVISIONER]: DRIVER },
    },
    spec: {
      storageClassName: "fast",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  }));

export async function attachments(store: ObjectStore): Promise<KubeObject[]> {
  const { items } = await store.list(PersistentVolumeClaims, { namespace: NAMESPACE });
  return items.map(({ spec }, index) => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: `attachment-${index}` },
    spec: { attacher: DRIVER, nodeName: "n0", source: { persistentVolumeName: spec?.volumeName ?? "" } },
  }));
}

export const snapshots = ({ claims: among, snapshots: length }: Sizes): KubeObject[] =>
  Array.from({ length }, (_, index) => ({
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name: `snapshot-${index}`, namespace: NAMESPACE },
    spec: {
      volumeSnapshotClassName: "snaps",
      source: { persistentVolumeClaimName: `claim-${index % among}` },
    },
  }));

export const groups = ({ groups: length }: Sizes): KubeObject[] =>
  Array.from({ length }, (_, index) => ({
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshot",
    metadata: { name: `group-${index}`, namespace: NAMESPACE },
    spec: {
      volumeGroupSnapshotClassName: "groups",
      source: { selector: { matchLabels: { group: String(index) } } },
    },
  }));
