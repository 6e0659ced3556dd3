import type { Attributes } from "./attributes.ts";

/** rbac.authorization.k8s.io PolicyRule. */
export interface PolicyRule {
  verbs: readonly string[];
  apiGroups?: readonly string[];
  /** `pods`, `pods/log`, or a star for all, or a star for the part before the slash. */
  resources?: readonly string[];
  resourceNames?: readonly string[];
  /** `/healthz`, `/metrics/*`. */
  nonResourceURLs?: readonly string[];
}

const any = (list: readonly string[] | undefined, value: string) =>
  list?.includes("*") === true || list?.includes(value) === true;

/** Whether one rule allows it. */
export function allows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!any(rule.verbs, attributes.verb)) return false;
  if (attributes.type === "path") {
    return (rule.nonResourceURLs ?? []).some((url) =>
      url.endsWith("*") ? attributes.path.startsWith(url.slice(0, -1)) : url === attributes.path,
    );
  }
  const { group, resource, subresource, name } = attributes;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const named =
    any(rule.resources, full) ||
    (subresource !== "" && rule.resources?.includes(`*/${subresource}`) === true);
  const names = rule.resourceNames ?? [];
  return any(rule.apiGroups, group) && named && (names.length === 0 || names.includes(name));
}

const AUTHENTICATION = ["authentication.k8s.io", "authorization.k8s.io"];

/** What every cluster grants to groups that it makes itself. */
export const GROUP_RULES: Readonly<Record<string, readonly PolicyRule[]>> = {
  "system:masters": [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    { verbs: ["*"], nonResourceURLs: ["*"] },
  ],
  "system:authenticated": [
    {
      verbs: ["get"],
      nonResourceURLs: [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
      ],
    },
    {
      verbs: ["create"],
      apiGroups: AUTHENTICATION,
      resources: ["selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
  ],
  "system:unauthenticated": [
    {
      verbs: ["get"],
      nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"],
    },
  ],
};
