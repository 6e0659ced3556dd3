import {
  CSIDrivers,
  getIfAny,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
} from "@mooring/store";

/** For whom the drivers of a pod's volumes want tokens of its account (CSIDriver `tokenRequests`); empty: for this server. */
export async function driverAudiences(pod: Pod, store: ObjectStore): Promise<string[]> {
  const { namespace = "" } = pod.metadata;
  const drivers = await Promise.all(
    (pod.spec?.volumes ?? []).map(async ({ csi, ephemeral, name: own, persistentVolumeClaim }) => {
      if (csi !== undefined) return csi.driver;
      const made = `${pod.metadata.name}-${own}`;
      const name = ephemeral === undefined ? persistentVolumeClaim?.claimName : made;
      if (name === undefined) return undefined;
      const claim = await getIfAny(store, PersistentVolumeClaims, { namespace, name });
      const volumeName = claim?.spec?.volumeName;
      if (!volumeName) return undefined;
      return (await getIfAny(store, PersistentVolumes, { name: volumeName }))?.spec?.csi?.driver;
    }),
  );
  const described = await Promise.all(
    [...new Set(drivers)].map((name) =>
      name === undefined ? undefined : getIfAny(store, CSIDrivers, { name }),
    ),
  );
  return described.flatMap((driver) => (driver?.spec?.tokenRequests ?? []).map(({ audience }) => audience));
}
