import type { CephCluster } from "@mooring/store/testing";

/** What follows the name of a pool in `--rbd-pool`: an RBD namespace of its own in the cluster. */
export async function rbdSettings(ceph: CephCluster): Promise<string> {
  const { conf, user, keyring, pool } = ceph;
  return `conf:${conf},user:${user},pool:${pool},namespace:${await ceph.namespace()},keyring:${keyring}`;
}
