import { type CSIDriver, type CSINode, DONE, type Node, type Outcome, wait } from "@mooring/store";
import { NODE_IDS } from "../common/names.ts";
import type { Segments } from "../topology/terms.ts";

/** What the driver reports about the node that it runs on (NodeGetInfo). */
export interface NodeInfo {
  nodeId: string;
  /** 0: no limit. */
  maxVolumes: number;
  segments: Segments;
}

/** What a CSINode has of one driver. */
export type CsiNodeEntry = CSINode["spec"]["drivers"][number];

/** Everything that a node's registration depends on. */
export interface RegistrationView {
  driver: string;
  nodeName: string;
  info: NodeInfo;
  node: Node | undefined;
  csiNode: CSINode | undefined;
  csiDriver: CSIDriver | undefined;
  /** An administrator has deleted it: milliseconds until it is put back. */
  putBackInMs: number;
  /** Only who knows the whole driver can say what its CSIDriver object has to be. */
  hasDriver: boolean;
}

/** One visible change of CSIDriver, CSINode or Node. */
export type RegistrationStep =
  | { do: "create-csi-driver" }
  | { do: "create-csi-node"; drivers: CsiNodeEntry[] }
  | { do: "update-csi-node"; drivers: CsiNodeEntry[] }
  | { do: "update-node"; annotations: Record<string, string>; labels: Record<string, string> }
  | { do: "report"; message: string };

/**
 * The next step to make a node known as one of the driver's (K8S-016 to K8S-019). Labels come before the CSINode entry: who
 * sees the entry may rely on them.
 */
export function decideRegistration(view: RegistrationView): RegistrationStep | Outcome {
  const { csiDriver, driver, info, node, hasDriver, putBackInMs } = view;
  const missing = csiDriver === undefined && hasDriver;
  if (missing && putBackInMs === 0) return { do: "create-csi-driver" };
  const rest: Outcome = missing ? wait(putBackInMs) : DONE;
  if (node === undefined) return rest;
  const collision = collidingLabel(node, info.segments);
  if (collision !== undefined) return { do: "report", message: collision };
  const update = nodeUpdate(node, driver, info);
  if (update !== undefined) return update;
  return entryStep(view) ?? rest;
}

function entryStep({ csiNode, driver, info }: RegistrationView): RegistrationStep | undefined {
  const entry = entryFor(driver, info);
  if (csiNode === undefined) return { do: "create-csi-node", drivers: [entry] };
  const known = csiNode.spec.drivers.find(({ name }) => name === driver);
  if (known !== undefined && isSameEntry(known, entry)) return undefined;
  const others = csiNode.spec.drivers.filter(({ name }) => name !== driver);
  return { do: "update-csi-node", drivers: [...others, entry] };
}

function entryFor(name: string, { nodeId, maxVolumes, segments }: NodeInfo): CsiNodeEntry {
  return {
    name,
    nodeID: nodeId,
    topologyKeys: Object.keys(segments).sort(),
    ...(maxVolumes > 0 ? { allocatable: { count: maxVolumes } } : {}),
  };
}

function isSameEntry(a: CsiNodeEntry, b: CsiNodeEntry): boolean {
  return (
    a.nodeID === b.nodeID &&
    a.allocatable?.count === b.allocatable?.count &&
    [...(a.topologyKeys ?? [])].sort().join() === (b.topologyKeys ?? []).join()
  );
}

/** A topology label of the node that has another value than the driver's: it would send volumes to the wrong nodes. */
function collidingLabel({ metadata: { labels = {} } }: Node, segments: Segments): string | undefined {
  const key = Object.keys(segments).find(
    (name) => labels[name] !== undefined && labels[name] !== segments[name],
  );
  return key === undefined
    ? undefined
    : `the driver reports topology ${key}=${segments[key]}, but the node has the label ${key}=${labels[key]}`;
}

function nodeUpdate(
  { metadata }: Node,
  driver: string,
  { nodeId, segments }: NodeInfo,
): RegistrationStep | undefined {
  const { annotations = {}, labels = {} } = metadata;
  const ids = parseNodeIds(annotations[NODE_IDS]);
  const missing = Object.entries(segments).filter(([key]) => labels[key] === undefined);
  if (ids[driver] === nodeId && missing.length === 0) return undefined;
  return {
    do: "update-node",
    annotations: { [NODE_IDS]: JSON.stringify({ ...ids, [driver]: nodeId }) },
    labels: Object.fromEntries(missing),
  };
}

/** The annotation is one JSON object of driver name to node id; anything else in it is replaced. */
export function parseNodeIds(text: string | undefined): Record<string, string> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    return isMap ? (value as Record<string, string>) : {};
  } catch {
    return {};
  }
}
