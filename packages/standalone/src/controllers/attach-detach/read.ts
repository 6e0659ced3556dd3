import {
  delay,
  getIfAny,
  type KubeVolumeAttachment,
  type Node,
  Nodes,
  type ReadContext,
  type WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { isStopped } from "../node-stopped.ts";
import { placedPod } from "../pod-claims.ts";
import { decideStep, type NodeReports, type NodeView } from "./decide.ts";
import { attachmentName } from "./names.ts";
import type { ReportedProblems } from "./problems.ts";
import { nodesWithAttachment, wantedVolumes } from "./wanted.ts";

interface AttachDetachReads {
  view: Pick<ClusterView, "pods" | "claims" | "volumes" | "drivers" | "csiNodes">;
  nodes: WrittenCache<Node>;
  attachments: WrittenCache<KubeVolumeAttachment>;
  reported: ReportedProblems;
  /** By node: when something was last changed for it, in milliseconds of `performance.now()`. */
  changed: ReadonlyMap<string, number>;
  hasAttacher: (driver: string) => boolean;
}

/** What was read of a node, and what was reported to pods already. */
export type ReadNode = NodeView & NodeReports;

/** How long volumes that come and go together are gathered. */
const SETTLE_MS = 10;
/** A change that follows another one so closely is one of many. */
const BUSY_MS = 50;

/**
 * A node, what its pods need attached, and what is attached. Where something is to be done the controller reads the store
 * itself.
 */
export async function readNode(
  nodeName: string,
  from: AttachDetachReads,
  { reader, signal }: ReadContext,
): Promise<ReadNode> {
  const first = viewOf(nodeName, reader.over(from.nodes).get(nodeName), from, reader);
  const step = decideStep(first);
  if (step.do === "done" || step.do === "wait") return first;
  // One volume alone waits for no other. Of many the first goes at once, and one read serves all that come meanwhile.
  const changedAt = from.changed.get(nodeName) ?? Number.NEGATIVE_INFINITY;
  const isLast = step.do === "report-attached" && step.attached.length > 0 && isAllAttached(first);
  const settles = !isLast && performance.now() - changedAt < BUSY_MS;
  if (settles) await delay(SETTLE_MS, signal);
  // From the store: the kubelet's list of what is in use must be the newest there is when ours is written.
  const node = await getIfAny(reader.store, Nodes, { name: nodeName }, signal);
  // All pods of a node are much to read twice in one moment.
  if (!settles && isStopped(node) === isStopped(first.node)) return { ...first, node };
  return viewOf(nodeName, node, from, reader);
}

/** Nothing is on its way that could be reported together with what is attached already. */
function isAllAttached({ nodeName, wanted, attachments }: NodeView): boolean {
  const attached = attachments.filter(({ status }) => status?.attached === true);
  const names = new Set(attached.map(({ metadata }) => metadata.name));
  return wanted.every(({ driver, handle }) => names.has(attachmentName(handle, driver, nodeName)));
}

function viewOf(
  nodeName: string,
  node: Node | undefined,
  { view, reported, hasAttacher, ...from }: AttachDetachReads,
  reader: ReadContext["reader"],
): ReadNode {
  const caches = {
    pods: reader.over(view.pods, placedPod),
    claims: reader.over(view.claims),
    volumes: reader.over(view.volumes),
    drivers: reader.over(view.drivers),
    csiNodes: reader.over(view.csiNodes),
    attachments: reader.over(from.attachments),
  };
  // The pods of a node that was stopped are still there, and start again with it; until then they need nothing.
  const wanted = isStopped(node) ? [] : wantedVolumes(caches, nodeName, hasAttacher);
  const exclusive = wanted.filter(({ shared }) => !shared).map(({ volume }) => volume);
  const attachments = new Map(
    exclusive.map((volume) => [volume, nodesWithAttachment(caches, volume, nodeName)]),
  );
  return {
    ...{ nodeName, node, wanted },
    attachments: caches.attachments.byIndex("node", nodeName),
    attachedElsewhere: (volume) => attachments.get(volume) ?? [],
    isReported: (problem) => reported.has(nodeName, problem),
    repeatInMs: (problems) => reported.repeatInMs(nodeName, problems),
  };
}
