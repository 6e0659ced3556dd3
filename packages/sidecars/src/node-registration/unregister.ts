import { CSINodes, getIfAny, mutate, Nodes, type ObjectStore } from "@mooring/store";
import { NODE_IDS } from "../common/names.ts";
import { parseNodeIds } from "./decide.ts";

/**
 * Takes a driver off a node on which it is not any more, as upstream's kubelet does: its entry in the CSINode and its id in the
 * node's annotation. Labels stay: volumes are bound to them.
 */
export async function unregisterNode(store: ObjectStore, driver: string, nodeName: string): Promise<void> {
  const key = { name: nodeName };
  const csiNode = await getIfAny(store, CSINodes, key);
  if (csiNode?.spec.drivers.some(({ name }) => name === driver) === true) {
    await mutate(store, CSINodes, key, (object) => ({
      ...object,
      spec: { ...object.spec, drivers: object.spec.drivers.filter(({ name }) => name !== driver) },
    }));
  }
  const node = await getIfAny(store, Nodes, key);
  if (!Object.hasOwn(parseNodeIds(node?.metadata.annotations?.[NODE_IDS]), driver)) return;
  await mutate(store, Nodes, key, (object) => {
    const { [NODE_IDS]: text, ...annotations } = object.metadata.annotations ?? {};
    const { [driver]: _, ...others } = parseNodeIds(text);
    const left = Object.keys(others).length === 0 ? {} : { [NODE_IDS]: JSON.stringify(others) };
    return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, ...left } } };
  });
}
