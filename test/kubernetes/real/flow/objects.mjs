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

export const attributesClass = (name, parameters) => ({
  ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttributesClass", metadata: { name } },
  ...{ driverName: "csi.mooring.dev", parameters },
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

/** Goes on where the one before it has stopped: numbers, each on disk before the next one. One that cannot be written ends it. */
export const COUNT_ON =
  "i=$(cat /data/numbers 2>/dev/null | wc -l); while echo $i >>/data/numbers && sync /data/numbers; do i=$((i+1)); sleep 0.05; done";

/** What {@link COUNT_ON} has written: how many there are. Throws when one is missing. */
export function countNumbers(text) {
  const all = text.trim().split("\n").map(Number);
  const wrong = all.findIndex((number, index) => number !== index);
  if (wrong !== -1) throw new Error(`number ${wrong} is missing: ${all.slice(wrong, wrong + 5)}`);
  return all.length;
}

/** Nobody of importance: what a careful administrator makes everybody be. Its group gets the volumes. */
const USER = { runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, fsGroup: 2000 };

/**
 * `mounts` and `devices`: names of claims by the path where the pod has them. Devices belong to root, so a pod that has them
 * is root's. `node`: it runs there and nowhere else.
 */
export function pod(name, { mounts = {}, devices = {}, run = "exec sleep 1000000000", node }) {
  const paths = { ...mounts, ...devices };
  const volumeOf = (claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } });
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: {
      ...{ terminationGracePeriodSeconds: 1, restartPolicy: "Never", enableServiceLinks: false },
      ...(Object.keys(devices).length === 0 ? { securityContext: USER } : {}),
      ...(node === undefined ? {} : { nodeSelector: { "kubernetes.io/hostname": node } }),
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
