import type { MetricFamily } from "@mooring/csi";

/** CSIStorageCapacities of one driver. */
export interface CapacityCounts {
  driver: string;
  /** How many there are to be: one for each class and place. */
  goal: number;
  /** Of those, how many there are. */
  current: number;
  /** How many there are beside them; they are about to go. */
  obsolete: number;
}

/** Of the controllers that run in this process. */
const running = new Set<() => CapacityCounts>();

/** From here on `count` is asked whenever somebody scrapes; returns how to end that. */
export function countCapacities(count: () => CapacityCounts): () => void {
  running.add(count);
  return () => running.delete(count);
}

const FAMILIES: readonly [of: "goal" | "current" | "obsolete", name: string, help: string][] = [
  ["goal", "desired_goal", "Number of CSIStorageCapacity objects that there are to be."],
  ["current", "desired_current", "Number of CSIStorageCapacity objects that exist and are to be there."],
  ["obsolete", "obsolete", "Number of CSIStorageCapacity objects that exist and will be deleted."],
];

/** By the names that dashboards of external-provisioner ask for. */
export function capacityMetrics(): MetricFamily[] {
  const counts = [...running].map((count) => count());
  return FAMILIES.map(([of, name, help]) => ({
    ...{ name: `csistoragecapacities_${name}`, type: "gauge", help },
    samples: counts.map((each) => ({ labels: { driver_name: each.driver }, value: each[of] })),
  }));
}
