import { type Node, Nodes } from "@mooring/store";
import { expansionOf } from "./csi-volume.ts";
import type { ManagerContext } from "./csi-volume-manager.ts";
import type { Device } from "./csi-volume-table.ts";
import type { DeviceView } from "./decide.ts";

/** Everything that the decision about one volume may look at. */
export async function viewDevice(context: ManagerContext, key: string, device: Device): Promise<DeviceView> {
  const { table, inUse } = context;
  const wanted = device.wants.size > 0;
  const attaches = needsAttach(context, device);
  return {
    wantedBy: [...device.wants.keys()],
    publications: [...device.publications].map(([podUID, state]) => {
      return { podUID, state, held: !table.hasReleased(podUID) };
    }),
    staged: device.staged,
    needsAttach: attaches,
    reportedInUse: inUse.has(key),
    attached: device.staged === "yes" || (wanted && attaches && (await isAttached(context, key))),
    needsExpansion: wanted && pendingExpansion(context, device) !== undefined,
  };
}

/** Without a CSIDriver object a driver counts as one that must be asked. */
export function needsAttach({ view }: ManagerContext, { record }: Device): boolean {
  return view.drivers.get(record.driverName)?.spec?.attachRequired !== false;
}

/** The size that the node's side of the volume is to grow to. */
export function pendingExpansion({ view }: ManagerContext, { record, wants }: Device): bigint | undefined {
  if ([...wants.values()].every(({ readOnly }) => readOnly)) return undefined;
  const volume = view.volumes.get(record.specVolID);
  const reference = volume?.spec?.claimRef;
  return expansionOf(view.claims.get(`${reference?.namespace}/${reference?.name}`), volume);
}

async function isAttached(context: ManagerContext, key: string): Promise<boolean> {
  const { store, view, nodeName, inUse, signal } = context;
  const lists = (node: Node | undefined) =>
    (node?.status?.volumesAttached ?? []).some(({ name }) => name === key);
  if (!inUse.has(key) || !lists(view.nodes.get(nodeName))) return false;
  // From the store, and after our own report: what the cache shows may be from before the last detach.
  return lists(await store.get(Nodes, { name: nodeName }, signal));
}
