import { type Node, type Pod, parseMilli, parseQuantity } from "@mooring/store";
import { isFinished } from "../../controllers/pod-claims.ts";
import { hostPortsOf, lacking, requestsOf, sumOf } from "../../controllers/scheduler/requests.ts";

/** Why this node does not take a pod, with the reason of Kubernetes. */
export interface Rejection {
  reason: string;
  message: string;
}

/** What pods have of a node. */
interface Taken {
  pods: Pod[];
  ports: Set<string>;
}

/**
 * Why the node has no room for a pod that has not begun; undefined when it has. The scheduler places no such pod, but a pod may
 * name its node itself. As the kubelet does it: what has begun stays, the others come in the order in which they were made, each
 * beside those for which there was room. A pod that is rejected has failed, so that it takes no room from those that the
 * scheduler places.
 */
export function rejectionOf(
  pod: Pod,
  { here, node, hasBegun }: { here: readonly Pod[]; node: Node; hasBegun(pod: Pod): boolean },
): Rejection | undefined {
  const there = here.filter((each) => !isFinished(each) && each.metadata.uid !== pod.metadata.uid);
  const begun = there.filter(hasBegun);
  const taken: Taken = { pods: begun, ports: new Set(begun.flatMap(hostPortsOf)) };
  const before = there.filter((each) => !hasBegun(each) && orderOf(each) < orderOf(pod));
  for (const each of before.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)))
    if (problemOf(each, taken, node) === undefined) {
      taken.pods.push(each);
      for (const port of hostPortsOf(each)) taken.ports.add(port);
    }
  return problemOf(pod, taken, node);
}

const orderOf = ({ metadata }: Pod): string => `${metadata.creationTimestamp ?? ""} ${metadata.uid ?? ""}`;

function problemOf(pod: Pod, { pods, ports }: Taken, { status }: Node): Rejection | undefined {
  const allocatable = status?.allocatable;
  // A node that has not reported what it has says nothing yet.
  if (allocatable === undefined) return undefined;
  if (BigInt(pods.length) >= parseQuantity(allocatable.pods ?? Number.MAX_SAFE_INTEGER))
    return insufficient("pods", [1n, BigInt(pods.length), parseQuantity(allocatable.pods ?? 0)]);
  if (hostPortsOf(pod).some((port) => ports.has(port)))
    return {
      reason: "NodePorts",
      message:
        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    };
  const [wanted, used] = [requestsOf(pod), sumOf(pods.map(requestsOf))];
  const [first] = lacking(wanted, used, allocatable);
  if (first === undefined) return undefined;
  const name = first.slice("Insufficient ".length);
  const unit = name === "cpu" ? 1n : 1000n;
  const room = new Map(Object.entries(allocatable)).get(name) ?? "0";
  return insufficient(
    name,
    [wanted.get(name) ?? 0n, used.get(name) ?? 0n, parseMilli(room)].map((each) => each / unit),
  );
}

/** Of cpu in thousandths of one. */
function insufficient(name: string, [requested, used, capacity]: readonly bigint[]): Rejection {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return {
    reason: `OutOf${name}`,
    message: `Pod was rejected: Node didn't have enough resource: ${name}, ${amounts}`,
  };
}
