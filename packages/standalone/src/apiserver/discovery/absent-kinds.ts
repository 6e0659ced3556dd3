import { StatusError } from "@mooring/store";
import type { VirtualKind } from "./virtual-kinds.ts";

/** A kind that operators know from clusters and standalone does not have. */
export interface AbsentKind extends VirtualKind {
  /** What there is instead; empty: nothing. */
  instead: string;
}

const NETWORK = "containers use the machine's network";
/** Nothing of standalone does the same. */
const NOTHING = "";
const MORE = "if you need it, take k3s with Mooring's chart";

/** Group with versions, plural and short names, such as `autoscaling/v2,v1 horizontalpodautoscalers hpa`; kind; what there is instead. */
type Row = readonly [at: string, kind: string, instead: string];

const IN_NAMESPACES: readonly Row[] = [
  ["apps/v1 daemonsets ds", "DaemonSet", "make a Deployment for each node, with a nodeSelector"],
  ["v1 replicationcontrollers rc", "ReplicationController", "use a Deployment"],
  ["v1 limitranges limits", "LimitRange", "set requests and limits of each container"],
  ["v1 endpoints ep", "Endpoints", NETWORK],
  ["v1 podtemplates", "PodTemplate", "use a Deployment or a Job"],
  ["discovery.k8s.io/v1 endpointslices", "EndpointSlice", NETWORK],
  ["networking.k8s.io/v1 ingresses ing", "Ingress", `${NETWORK}; run a proxy as a Deployment`],
  ["networking.k8s.io/v1 networkpolicies netpol", "NetworkPolicy", `${NETWORK}; use its firewall`],
  // `kubectl autoscale` and older charts ask for the older version.
  ["autoscaling/v2,v1 horizontalpodautoscalers hpa", "HorizontalPodAutoscaler", "use kubectl scale"],
  ["policy/v1 poddisruptionbudgets pdb", "PodDisruptionBudget", NOTHING],
  ["resource.k8s.io/v1,v1beta2,v1beta1 resourceclaims", "ResourceClaim", NOTHING],
  ["resource.k8s.io/v1,v1beta2,v1beta1 resourceclaimtemplates", "ResourceClaimTemplate", NOTHING],
];

const OF_THE_CLUSTER: readonly Row[] = [
  ["v1 componentstatuses cs", "ComponentStatus", "see mooring status"],
  ["networking.k8s.io/v1 ingressclasses", "IngressClass", NETWORK],
  ["networking.k8s.io/v1 ipaddresses ip", "IPAddress", NETWORK],
  ["networking.k8s.io/v1 servicecidrs", "ServiceCIDR", NETWORK],
  ["node.k8s.io/v1 runtimeclasses", "RuntimeClass", "all containers are run by runc"],
  ["scheduling.k8s.io/v1 priorityclasses pc", "PriorityClass", "use the two that begin with system-"],
  ["resource.k8s.io/v1,v1beta2,v1beta1 deviceclasses", "DeviceClass", NOTHING],
  ["resource.k8s.io/v1,v1beta2,v1beta1 resourceslices", "ResourceSlice", NOTHING],
  ["certificates.k8s.io/v1 certificatesigningrequests csr", "CertificateSigningRequest", NOTHING],
  ["flowcontrol.apiserver.k8s.io/v1 flowschemas", "FlowSchema", NOTHING],
  ["flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations", "PriorityLevelConfiguration", NOTHING],
  ["apiregistration.k8s.io/v1 apiservices", "APIService", NOTHING],
  ...[
    ["v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"],
    ["v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"],
    ["v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"],
    ["v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"],
    ["v1,v1beta1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies"],
    ["v1,v1beta1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"],
  ].map(([versions, kind = "", plural]): Row => {
    return [`admissionregistration.k8s.io/${versions} ${plural}`, kind, NOTHING];
  }),
];

function absent([at, kind, instead]: Row, namespaced: boolean): AbsentKind[] {
  const [groupVersions = "", plural = "", ...shortNames] = at.split(" ");
  const [versions = "", group = ""] = groupVersions.split("/").reverse();
  const names = { kind, plural, singular: kind.toLowerCase(), shortNames };
  return versions.split(",").map((version) => ({ group, version, ...names, namespaced, instead }));
}

/**
 * Kinds that every API server of Kubernetes has. They are discovered and refused: a client that does not find a kind asks its user
 * to install definitions, which would not help. Kinds that definitions bring there are none of them, as they do so here.
 */
export const ABSENT_KINDS: readonly AbsentKind[] = [
  ...IN_NAMESPACES.flatMap((row) => absent(row, true)),
  ...OF_THE_CLUSTER.flatMap((row) => absent(row, false)),
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
  const next = kind.instead === NOTHING ? MORE : `${kind.instead}; ${MORE}`;
  return new StatusError("MethodNotAllowed", `standalone has no ${kind.kind}: ${next}`);
}
