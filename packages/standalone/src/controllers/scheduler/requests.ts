import { type Pod, parseMilli } from "@mooring/store";

type Container = NonNullable<Pod["spec"]>["containers"][number];
/** With a field that servers know and the types do not yet. */
type Whole = { resources?: { requests?: Record<string, string | number> } };

/** Amounts by resource name, in thousandths: `cpu` -> 250n, `memory` -> bytes times 1000. */
export type Amounts = ReadonlyMap<string, bigint>;

/**
 * What a pod needs on its node: its containers side by side, or its largest init container if that is more. Sidecars
 * run from their place among the init containers on, so they count with those after them and with the containers.
 */
export function requestsOf({ spec }: Pod): Amounts {
  const largest = new Map<string, bigint>();
  const sidecars = new Map<string, bigint>();
  for (const each of spec?.initContainers ?? []) {
    const staying = each.restartPolicy === "Always";
    if (staying) add(sidecars, amountsOf(each));
    const atOnce = new Map(sidecars);
    if (!staying) add(atOnce, amountsOf(each));
    for (const [name, amount] of atOnce) largest.set(name, max(largest.get(name), amount));
  }
  const together = new Map(sidecars);
  for (const each of spec?.containers ?? []) add(together, amountsOf(each));
  for (const [name, amount] of largest) together.set(name, max(together.get(name), amount));
  // What is asked for the pod as a whole counts, and not what its containers ask for of that.
  for (const [name, amount] of quantities((spec as Whole | undefined)?.resources?.requests))
    together.set(name, amount);
  add(together, quantities(spec?.overhead));
  return together;
}

/** Ports of its node that a pod has to itself: `TCP/8080`. */
export function hostPortsOf({ spec }: Pod): string[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ hostPort, protocol }) => `${protocol ?? "TCP"}/${hostPort}`);
}

/** All of these together. */
export function sumOf(all: Iterable<Amounts>): Amounts {
  const sum = new Map<string, bigint>();
  for (const each of all) add(sum, each);
  return sum;
}

/** Names of the resources of which `allocatable` has too little left for `wanted`, with the text of Kubernetes. */
export function lacking(
  wanted: Amounts,
  used: Amounts,
  allocatable: Readonly<Record<string, string>> | undefined,
): string[] {
  // A resource may have any name, also that of a property that every object has.
  const room = new Map(Object.entries(allocatable ?? {}));
  return [...wanted]
    .filter(([, amount]) => amount > 0n)
    .filter(([name, amount]) => (used.get(name) ?? 0n) + amount > parseMilli(room.get(name) ?? "0"))
    .map(([name]) => `Insufficient ${name}`);
}

/** A limit without a request is a request. */
function amountsOf({ resources }: Container): Amounts {
  return quantities({ ...resources?.limits, ...resources?.requests });
}

function quantities(list: Readonly<Record<string, string | number>> = {}): Amounts {
  return new Map(Object.entries(list).map(([name, quantity]) => [name, parseMilli(quantity)]));
}

function add(to: Map<string, bigint>, amounts: Amounts): void {
  for (const [name, amount] of amounts) to.set(name, (to.get(name) ?? 0n) + amount);
}

function max(a: bigint | undefined, b: bigint): bigint {
  return a !== undefined && a > b ? a : b;
}
