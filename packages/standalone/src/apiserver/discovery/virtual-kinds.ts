/** A kind that can only be created: a review with its result. Nothing is stored. */
export interface VirtualKind {
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  namespaced: boolean;
  /** Short forms for the command line. */
  shortNames?: readonly string[];
}

const AUTHENTICATION = { group: "authentication.k8s.io", version: "v1", namespaced: false };
const AUTHORIZATION = { group: "authorization.k8s.io", version: "v1", namespaced: false };
const review = (base: typeof AUTHENTICATION, kind: string, plural: string) => ({
  ...base,
  kind,
  plural,
  singular: kind.toLowerCase(),
});

/** Kinds that are evaluated and never stored, such as reviews. */
export const VIRTUAL_KINDS: readonly VirtualKind[] = [
  review(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews"),
  review(AUTHENTICATION, "TokenReview", "tokenreviews"),
  { ...review(AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews"), namespaced: true },
  review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
  review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
  review(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews"),
];

/** A subresource with behaviour of its own. */
interface SpecialSubresource {
  /** Group and plural of the kind it belongs to. */
  of: string;
  name: string;
  /** Kind of its body. */
  kind: string;
  group?: string;
  version?: string;
  verbs: readonly string[];
}

/** Connections into a pod: by `kubectl` with GET, by older clients with POST. */
const connection = (name: string, kind: string): SpecialSubresource => ({
  ...{ of: "/pods", name, kind, verbs: ["create", "get"] },
});

const SPECIAL_SUBRESOURCES: readonly SpecialSubresource[] = [
  connection("attach", "PodAttachOptions"),
  connection("exec", "PodExecOptions"),
  connection("portforward", "PodPortForwardOptions"),
  { of: "/namespaces", name: "finalize", kind: "Namespace", verbs: ["update"] },
  { of: "/pods", name: "binding", kind: "Binding", verbs: ["create"] },
  { of: "/pods", name: "eviction", kind: "Eviction", group: "policy", version: "v1", verbs: ["create"] },
  { of: "/pods", name: "log", kind: "Pod", verbs: ["get"] },
  {
    of: "/serviceaccounts",
    name: "token",
    kind: "TokenRequest",
    group: "authentication.k8s.io",
    version: "v1",
    verbs: ["create"],
  },
];

/** Subresources besides `status` and `scale`, such as `pods/exec`. */
export function specialSubresources(group: string, plural: string): SpecialSubresource[] {
  return SPECIAL_SUBRESOURCES.filter((entry) => entry.of === `${group}/${plural}`);
}
