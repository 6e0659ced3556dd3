import type { CSINode, Node, StorageClass } from "@mooring/store";
import {
  canonicalTerms,
  flattenAllowed,
  includesTerm,
  rotate,
  type Segments,
  spreadingOffset,
  termKey,
} from "./terms.ts";

/** CSI's TopologyRequirement: made within `requisite`, tried in the order of `preferred`. */
export interface Requirement {
  requisite: Segments[];
  preferred: Segments[];
}

/** What a volume's accessibility requirements follow from. */
export interface TopologyInput {
  driver: string;
  claimName: string;
  /** The node that the scheduler chose; absent with immediate binding. */
  selectedNode?: string;
  allowed: StorageClass["allowedTopologies"];
  nodes: readonly Node[];
  csiNodes: readonly CSINode[];
  /** Only the selected node's own place will do. */
  strict: boolean;
  /** Immediate binding without allowed topologies asks for a place anyway. */
  immediate: boolean;
}

type TopologyResult =
  | { accessibilityRequirements: Requirement | undefined }
  | { error: string }
  /** The selected node is gone: let the scheduler choose again. */
  | { lost: string };

/** What to ask of CreateVolume (K8S-028, K8S-029). Pure: equal inputs give equal requests. */
export function accessibilityFor(input: TopologyInput): TopologyResult {
  const allowed = flattenAllowed(input.allowed ?? []);
  return input.selectedNode === undefined
    ? withoutNode(input, allowed)
    : withNode(input, input.selectedNode, allowed);
}

function withoutNode(input: TopologyInput, allowed: Segments[]): TopologyResult {
  if (allowed.length === 0 && !input.immediate) return { accessibilityRequirements: undefined };
  const requisite = allowed.length > 0 ? allowed : aggregate(input, firstKeys(input));
  if (requisite.length === 0)
    return { error: `no available topology found: no node has topology keys of driver ${input.driver}` };
  const first = spreadingOffset(input.claimName) % requisite.length;
  return { accessibilityRequirements: { requisite, preferred: rotate(requisite, first) } };
}

function withNode(input: TopologyInput, nodeName: string, allowed: Segments[]): TopologyResult {
  const node = input.nodes.find(({ metadata }) => metadata.name === nodeName);
  if (node === undefined) return { lost: `node ${nodeName} does not exist` };
  const csiNode = input.csiNodes.find(({ metadata }) => metadata.name === nodeName);
  if (csiNode === undefined) return { lost: `CSINode ${nodeName} does not exist` };
  const keys = topologyKeys(csiNode, input.driver);
  if (keys.length === 0)
    return { error: `driver ${input.driver} has no topology keys on CSINode ${nodeName}` };
  const here = segmentsOf(node, keys);
  if (here === undefined)
    return { error: `node ${nodeName} lacks labels for the topology keys ${keys.join(", ")}` };
  if (input.strict) {
    if (allowed.length > 0 && !allowed.some((term) => includesTerm(here, term)))
      return { error: `${termKey(here)} of node ${nodeName} is not in the class's allowedTopologies` };
    return { accessibilityRequirements: { requisite: [here], preferred: [here] } };
  }
  const requisite = allowed.length > 0 ? allowed : aggregate(input, keys);
  const first = requisite.findIndex((term) => includesTerm(here, term));
  if (first < 0)
    return {
      error: `${termKey(here)} of node ${nodeName} is not in requisite ${requisite.map(termKey).join()}`,
    };
  return { accessibilityRequirements: { requisite, preferred: rotate(requisite, first) } };
}

/** Every place where the driver runs with exactly these keys. */
function aggregate(input: TopologyInput, keys: readonly string[]): Segments[] {
  const wanted = JSON.stringify([...keys].sort());
  const nodes = new Map(input.nodes.map((node) => [node.metadata.name, node]));
  const terms: Segments[] = [];
  for (const csiNode of input.csiNodes) {
    const node = nodes.get(csiNode.metadata.name);
    const same = JSON.stringify([...topologyKeys(csiNode, input.driver)].sort()) === wanted;
    const term = node !== undefined && same ? segmentsOf(node, keys) : undefined;
    if (term !== undefined) terms.push(term);
  }
  return keys.length === 0 ? [] : canonicalTerms(terms);
}

/** During a driver upgrade nodes may differ in their keys: the most common set wins, ties by name. */
function firstKeys(input: TopologyInput): string[] {
  const counts = new Map<string, number>();
  for (const csiNode of input.csiNodes) {
    const keys = topologyKeys(csiNode, input.driver);
    const id = JSON.stringify([...keys].sort());
    if (keys.length > 0) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return best === undefined ? [] : (JSON.parse(best[0]) as string[]);
}

/** The keys that the driver has on this node, as in its CSINode. */
export function topologyKeys(csiNode: CSINode, driver: string): readonly string[] {
  return csiNode.spec.drivers.find(({ name }) => name === driver)?.topologyKeys ?? [];
}

/** The node's values for these keys; undefined when it lacks one. */
export function segmentsOf(node: Node, keys: readonly string[]): Segments | undefined {
  const labels = node.metadata.labels ?? {};
  const pairs = keys.flatMap((key) => {
    const value = labels[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return pairs.length === keys.length ? Object.fromEntries(pairs) : undefined;
}
