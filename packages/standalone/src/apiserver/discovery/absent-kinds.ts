import { StatusError } from "@mooring/store";
import type { VirtualKind } from "./virtual-kinds.ts";

/** A kind that operators know from clusters and standalone does not have. */
export interface AbsentKind extends VirtualKind {
  /** What there is instead. */
  instead: string;
}

const NETWORK = "containers use the machine's network";
const CLUSTER = "take a cluster for that";

/** `at`: `apps/v1 daemonsets`. */
function absent(at: string, kind: string, instead: string, namespaced = true): AbsentKind {
  const [groupVersion = "", plural = ""] = at.split(" ");
  const [version = "", group = ""] = groupVersion.split("/").reverse();
  return { group, version, kind, plural, singular: kind.toLowerCase(), namespaced, instead };
}

/**
 * They are discovered and refused: a client that does not find a kind asks its user to install definitions, which would
 * not help.
 */
export const ABSENT_KINDS: readonly AbsentKind[] = [
  absent("apps/v1 daemonsets", "DaemonSet", "make a Deployment for each node, with a nodeSelector"),
  absent("v1 replicationcontrollers", "ReplicationController", "use a Deployment"),
  absent("v1 limitranges", "LimitRange", "set requests and limits of each container"),
  absent("v1 endpoints", "Endpoints", NETWORK),
  absent("discovery.k8s.io/v1 endpointslices", "EndpointSlice", NETWORK),
  absent("networking.k8s.io/v1 ingresses", "Ingress", `${NETWORK}; run a proxy as a Deployment`),
  absent("networking.k8s.io/v1 ingressclasses", "IngressClass", NETWORK, false),
  absent("networking.k8s.io/v1 networkpolicies", "NetworkPolicy", `${NETWORK}; use its firewall`),
  absent("autoscaling/v2 horizontalpodautoscalers", "HorizontalPodAutoscaler", "use kubectl scale"),
  // `kubectl autoscale` and older charts ask for this version.
  absent("autoscaling/v1 horizontalpodautoscalers", "HorizontalPodAutoscaler", "use kubectl scale"),
  absent("policy/v1 poddisruptionbudgets", "PodDisruptionBudget", CLUSTER),
  absent("node.k8s.io/v1 runtimeclasses", "RuntimeClass", "all containers are run by runc", false),
  absent(
    "scheduling.k8s.io/v1 priorityclasses",
    "PriorityClass",
    "use the two that begin with system-",
    false,
  ),
  absent(
    "admissionregistration.k8s.io/v1 validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    CLUSTER,
    false,
  ),
  absent(
    "admissionregistration.k8s.io/v1 mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    CLUSTER,
    false,
  ),
  absent("apiregistration.k8s.io/v1 apiservices", "APIService", CLUSTER, false),
];

type KindPath = Pick<AbsentKind, "group" | "version" | "plural">;

function absentAt(path: KindPath): AbsentKind | undefined {
  return ABSENT_KINDS.find(
    ({ group, version, plural }) =>
      group === path.group && version === path.version && plural === path.plural,
  );
}

/** What a client that looks for objects by a label finds of a kind that is not there; undefined for all other paths. */
export function emptyListOfAbsent(path: KindPath): object | undefined {
  const kind = absentAt(path);
  if (kind === undefined) return undefined;
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  return { kind: `${kind.kind}List`, apiVersion, metadata: { resourceVersion: "1" }, items: [] };
}

/** What a path of a kind that is not there gets (405), whatever is asked of it; undefined for all other paths. */
export function refusalOfAbsent(path: KindPath): StatusError | undefined {
  const kind = absentAt(path);
  if (kind === undefined) return undefined;
  return new StatusError("MethodNotAllowed", `standalone has no ${kind.kind}: ${kind.instead}`);
}
