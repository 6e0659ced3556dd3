import type { SidecarContext } from "../common/context.ts";
import { parseSlotKey } from "../kube/capacity-slot.ts";
import { isSameTerm, type Segments } from "../topology/terms.ts";
import { type CapacityView, capacityName, isPublished, placesOf } from "./decide.ts";
import type { CapacityResults } from "./results.ts";

/** The place of each node where the driver runs. Nodes may share one. */
export function readPlaces({ cluster, driver, here }: SidecarContext): Segments[] {
  if (here !== undefined) return [here.segments];
  if (!driver.info.topology) return placesOf(driver.info, [], []);
  return placesOf(driver.info, cluster.csiNodes.list(), cluster.nodes.list());
}

/** What is known and published about one slot. */
export function readSlot(
  key: string,
  context: SidecarContext,
  {
    results,
    immediateBinding,
    pollMs,
  }: { results: CapacityResults; immediateBinding: boolean; pollMs: number },
): CapacityView {
  const { cluster, driver, here, namespace, now } = context;
  const slot = parseSlotKey(key);
  const name = capacityName(driver.info.name, slot, here?.node);
  const storageClass = cluster.classes.get(slot.className);
  const parameters = storageClass?.parameters ?? {};
  const isThere = (segments: Segments) => isSameTerm(segments, slot.segments);
  return {
    ...{ slot, parameters, pollMs, now: now() },
    wanted:
      storageClass !== undefined &&
      isPublished(storageClass, driver.info.name, immediateBinding) &&
      readPlaces(context).some(isThere),
    published: cluster.capacities.get(`${namespace}/${name}`),
    duplicates: cluster.capacities.byIndex("slot", key).filter(({ metadata }) => metadata.name !== name),
    result: results.of(key, parameters),
  };
}
