import { BUSYBOX } from "../support/images.mjs";

export const MIB = 2 ** 20;

/** `more`: other fields of the spec. */
export const claim = (name, size, more = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name, labels: { app: "database" } },
  spec: {
    ...{ accessModes: ["ReadWriteOnce"], storageClassName: "mooring" },
    resources: { requests: { storage: size } },
    ...more,
  },
});

export const rawClaim = (name, size, more = {}) => claim(name, size, { volumeMode: "Block", ...more });

/** Without a group: the core group, which the server writes as null. */
export const fromClaim = (name) => ({ dataSource: { kind: "PersistentVolumeClaim", name } });
export const fromSnapshot = (name) => ({
  dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name },
});

export const snapshot = (name, persistentVolumeClaimName) => ({
  apiVersion: "snapshot.storage.k8s.io/v1",
  kind: "VolumeSnapshot",
  metadata: { name },
  spec: { volumeSnapshotClassName: "mooring", source: { persistentVolumeClaimName } },
});

export const groupSnapshot = (name) => ({
  apiVersion: "groupsnapshot.storage.k8s.io/v1",
  kind: "VolumeGroupSnapshot",
  metadata: { name },
  spec: {
    volumeGroupSnapshotClassName: "mooring",
    source: { selector: { matchLabels: { app: "database" } } },
  },
});

export const groupRestore = (name, volumeGroupSnapshotName) => ({
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupRestore",
  metadata: { name },
  spec: { source: { volumeGroupSnapshotName }, defaults: { labels: { app: "restored" } } },
});

/** Nobody of importance: what a careful administrator makes everybody be. Its group gets the volumes. */
const USER = { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, fsGroup: 2000 };

/**
 * `mounts` and `devices`: names of claims by the path where the pod has them. Devices belong to root, so a pod that has them
 * is root's.
 */
export function pod(name, { mounts = {}, devices = {}, run = "exec sleep 1000000000" }) {
  const paths = { ...mounts, ...devices };
  const volumeOf = (claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } });
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: {
      ...{ terminationGracePeriodSeconds: 1, restartPolicy: "Never", enableServiceLinks: false },
      ...(Object.keys(devices).length === 0 ? { securityContext: USER } : {}),
      containers: [
        {
          ...{ name: "main", image: BUSYBOX, imagePullPolicy: "Never", command: ["/bin/sh", "-c", run] },
          volumeMounts: Object.entries(mounts).map(([mountPath, claimName]) => ({
            ...{ name: claimName, mountPath },
          })),
          volumeDevices: Object.entries(devices).map(([devicePath, claimName]) => ({
            ...{ name: claimName, devicePath },
          })),
        },
      ],
      volumes: [...new Set(Object.values(paths))].map(volumeOf),
    },
  };
}
