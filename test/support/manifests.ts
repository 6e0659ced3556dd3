import type { PersistentVolumeClaim, Pod, VolumeSnapshot } from "@mooring/store";
import { defined } from "@mooring/store";

export function claim(
  namespace: string,
  name: string,
  options: { size?: string; snapshot?: string; claim?: string; className?: string; block?: boolean } = {},
): PersistentVolumeClaim {
  const { size = "64Mi", snapshot: from, claim: clone, className, block } = options;
  const dataSource =
    from !== undefined
      ? { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: from }
      : clone !== undefined
        ? { kind: "PersistentVolumeClaim", name: clone }
        : undefined;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: size } },
      ...defined({ storageClassName: className }),
      ...(block === true ? { volumeMode: "Block" } : {}),
      ...defined({ dataSource }),
    },
  };
}

export function snapshot(namespace: string, name: string, claimName: string): VolumeSnapshot {
  return {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name, namespace },
    spec: { volumeSnapshotClassName: "mooring", source: { persistentVolumeClaimName: claimName } },
  };
}

/** A pod that runs one shell script with claims mounted: `{ "/data": "claim" }`. */
export function pod(
  namespace: string,
  name: string,
  script: string,
  {
    mounts = {},
    restartPolicy = "Never",
  }: { mounts?: Record<string, string>; restartPolicy?: "Always" | "OnFailure" | "Never" } = {},
): Pod {
  const entries = Object.entries(mounts);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 2,
      containers: [
        {
          name: "main",
          image: "host",
          command: ["/bin/sh", "-eu", "-c", script],
          volumeMounts: entries.map(([mountPath, claimName]) => ({ name: claimName, mountPath })),
        },
      ],
      volumes: entries.map(([, claimName]) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
  };
}
