import { DRIVER_NAME } from "@mooring/engine";
import type { PersistentVolumeClaim, Pod, StorageClass, VolumeSnapshot } from "@mooring/store";

/** The demo keeps to this namespace, and takes it away. */
export const NAMESPACE = "demo";
/** The storage class of the demo. */
export const CLASS = "demo-xfs";
/** The claim that the writer writes to. */
export const LIVE = "ledger";
/** The snapshot that is taken while it writes. */
export const SNAPSHOT = "ledger-at-noon";
/** The claim that is restored from it. */
export const RESTORED = "ledger-restored";

/** XFS, because it grows while it is mounted on every kernel. */
export const storageClass: StorageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: CLASS },
  provisioner: DRIVER_NAME,
  parameters: { "csi.storage.k8s.io/fstype": "xfs" },
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
  allowVolumeExpansion: true,
};

/** A claim of the demo; empty, or from a snapshot. */
export function claim(name: string, size: string, fromSnapshot?: string): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: CLASS,
      resources: { requests: { storage: size } },
      ...(fromSnapshot === undefined
        ? {}
        : {
            dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: fromSnapshot },
          }),
    },
  };
}

/** The snapshot of the claim in use. */
export const snapshot: VolumeSnapshot = {
  apiVersion: "snapshot.storage.k8s.io/v1",
  kind: "VolumeSnapshot",
  metadata: { name: SNAPSHOT, namespace: NAMESPACE },
  spec: { volumeSnapshotClassName: "mooring", source: { persistentVolumeClaimName: LIVE } },
};

/**
 * Every row follows from the one before (`chain`), so a lost, torn or reordered row is seen. A row's number is
 * printed only after its transaction is durable: what stands in the log is what was acknowledged.
 */
const WRITE = `
trap 'kill 0' TERM
cd /data
sqlite3 ledger.db 'PRAGMA journal_mode=WAL;
  CREATE TABLE IF NOT EXISTS ledger(n INTEGER PRIMARY KEY, amount INTEGER NOT NULL, chain INTEGER NOT NULL);
  INSERT OR IGNORE INTO ledger VALUES (0, 0, 7);' >/dev/null
{
  echo 'PRAGMA synchronous=FULL;'
  while :; do
    echo 'INSERT INTO ledger SELECT n+1, (n*7919)%1000, (chain*31 + n + (n*7919)%1000)%1000003
            FROM ledger ORDER BY n DESC LIMIT 1; SELECT max(n) FROM ledger;'
  done
} | stdbuf -oL sqlite3 -cmd '.timeout 10000' ledger.db &
wait
`;

/** Compares the restored database with the rule and, row by row, with the live one. Prints one JSON line. */
const AUDIT = `
sqlite3 -cmd '.timeout 10000' /restored/ledger.db "
  ATTACH '/live/ledger.db' AS live;
  WITH pairs AS (
    SELECT n, amount, chain, lag(n) OVER w AS pn, lag(chain) OVER w AS pc FROM main.ledger WINDOW w AS (ORDER BY n)
  )
  SELECT json_object(
    'integrity', (SELECT integrity_check FROM pragma_integrity_check(1, 'main')),
    'rows', (SELECT count(*) FROM main.ledger),
    'last', (SELECT max(n) FROM main.ledger),
    'broken', (SELECT count(*) FROM pairs WHERE n > 0 AND (pn IS NOT n-1 OR amount <> (pn*7919)%1000
                OR chain <> (pc*31 + pn + (pn*7919)%1000)%1000003)),
    'differs', (SELECT count(*) FROM main.ledger r LEFT JOIN live.ledger l USING (n)
                 WHERE l.n IS NULL OR l.amount <> r.amount OR l.chain <> r.chain),
    'liveLast', (SELECT max(n) FROM live.ledger));
"
df --output=size -B1 /restored | tail -n 1
df --output=size -B1 /live | tail -n 1
`;

/** A pod that runs a shell script with claims mounted: path to claim. */
export function pod(name: string, script: string, mounts: Record<string, string>): Pod {
  const entries = Object.entries(mounts);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: "main",
          image: "host",
          command: ["/bin/sh", "-eu", "-c", script],
          volumeMounts: entries.map(([path, claimName]) => ({ name: claimName, mountPath: path })),
        },
      ],
      volumes: entries.map(([, claimName]) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
  };
}

/** Appends to the ledger without end. */
export const writer: Pod = pod("writer", WRITE, { "/data": LIVE });
/** Compares the restored ledger with the one in use. */
export const auditor: Pod = pod("auditor", AUDIT, { "/restored": RESTORED, "/live": LIVE });
