import type { VolumeGroupRestore } from "@mooring/sidecars";
import type { VolumeGroupSnapshot } from "@mooring/store";
import { claim, NAMESPACE, pod } from "./manifests.ts";

/** The first claim of the demo's group. */
export const ORDERS = "orders";
/** The second claim of the demo's group, whose bookings must match the first. */
export const PAYMENTS = "payments";
/** Name of the demo's group snapshot. */
export const GROUP = "shop-at-noon";
/** Name of the demo's group restore. */
export const RESTORE = "again";
const LABELS = { app: "shop" };

/** Two claims with the label that the group snapshot selects. */
export const groupClaims = [ORDERS, PAYMENTS].map((name) => {
  const plain = claim(name, "512Mi");
  return { ...plain, metadata: { ...plain.metadata, labels: LABELS } };
});

/** Both claims at one moment. */
export const groupSnapshot: VolumeGroupSnapshot = {
  apiVersion: "groupsnapshot.storage.k8s.io/v1",
  kind: "VolumeGroupSnapshot",
  metadata: { name: GROUP, namespace: NAMESPACE },
  spec: { source: { selector: { matchLabels: LABELS } } },
};

/** A new claim from each member. */
export const groupRestore: VolumeGroupRestore = {
  apiVersion: "storage.mooring.dev/v1alpha1",
  kind: "VolumeGroupRestore",
  metadata: { name: RESTORE, namespace: NAMESPACE },
  spec: { source: { volumeGroupSnapshotName: GROUP } },
};

/** Names of the claims that the restore makes. */
export const restoredClaims = [ORDERS, PAYMENTS].map((name) => `${name}-${RESTORE}`);

/**
 * An order is durable on one volume before its payment goes to the other. So at every moment there are as many
 * payments as orders, or one less. A number is printed when both are durable.
 */
const SHOP = `
trap 'kill 0' TERM
{
  echo "ATTACH '/payments/payments.db' AS pay;
    PRAGMA main.journal_mode=WAL; PRAGMA pay.journal_mode=WAL;
    PRAGMA main.synchronous=FULL; PRAGMA pay.synchronous=FULL;
    CREATE TABLE IF NOT EXISTS main.orders(n INTEGER PRIMARY KEY, amount INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS pay.payments(n INTEGER PRIMARY KEY, amount INTEGER NOT NULL);"
  while :; do
    echo 'INSERT INTO main.orders SELECT coalesce(max(n),0)+1, (coalesce(max(n),0)*7919)%1000 FROM main.orders;
          INSERT INTO pay.payments SELECT n, amount FROM main.orders ORDER BY n DESC LIMIT 1;
          SELECT max(n) FROM pay.payments;'
  done
} | stdbuf -oL sqlite3 -cmd '.timeout 10000' /orders/orders.db &
wait
`;

/** Opens both restored databases together. Prints one JSON line. */
const AUDIT = `
sqlite3 -cmd '.timeout 10000' /orders/orders.db "
  ATTACH '/payments/payments.db' AS pay;
  SELECT json_object(
    'integrity', (SELECT integrity_check FROM pragma_integrity_check(1, 'main')) || ', ' ||
                 (SELECT integrity_check FROM pragma_integrity_check(1, 'pay')),
    'orders', (SELECT count(*) FROM orders),
    'payments', (SELECT count(*) FROM payments),
    'lastPayment', (SELECT max(n) FROM payments),
    'unordered', (SELECT count(*) FROM payments p LEFT JOIN orders o USING (n)
                   WHERE o.n IS NULL OR o.amount <> p.amount),
    'unpaid', (SELECT count(*) FROM orders o LEFT JOIN payments p USING (n) WHERE p.n IS NULL));
"
`;

const [orders = "", payments = ""] = restoredClaims;
/** Books each order in both volumes, in one order. */
export const shop = pod("shop", SHOP, { "/orders": ORDERS, "/payments": PAYMENTS });
/** Fails when the restored volumes do not match. */
export const groupAuditor = pod("group-auditor", AUDIT, { "/orders": orders, "/payments": payments });
