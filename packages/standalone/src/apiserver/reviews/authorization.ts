import { invalid, type UnstructuredObject } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Attributes } from "../auth/attributes.ts";
import type { Call, User } from "../http/call.ts";

interface AccessSpec {
  user?: string;
  groups?: string[];
  uid?: string;
  namespace?: string;
  resourceAttributes?: {
    verb?: string;
    group?: string;
    resource?: string;
    subresource?: string;
    name?: string;
    namespace?: string;
  };
  nonResourceAttributes?: { path?: string; verb?: string };
}

const specOf = (review: UnstructuredObject) => (review.spec ?? {}) as AccessSpec;

function attributesOf({ resourceAttributes: asked, nonResourceAttributes }: AccessSpec): Attributes {
  if (asked === undefined) {
    const { path = "", verb = "" } = nonResourceAttributes ?? {};
    return { type: "path", verb, path };
  }
  const { verb = "", group = "", resource = "", subresource = "", name = "", namespace = "" } = asked;
  return { type: "resource", verb, group, resource, subresource, name, namespace };
}

async function access(user: User, spec: AccessSpec, { authorizer }: Api): Promise<object> {
  return { allowed: await authorizer.allowed(user, attributesOf(spec)) };
}

/** `kubectl auth can-i`. */
export function selfAccessReview(review: UnstructuredObject, { user }: Call, api: Api): Promise<object> {
  return access(user, specOf(review), api);
}

/** The same about another user. */
export function accessReview(review: UnstructuredObject, _call: Call, api: Api): Promise<object> {
  const spec = specOf(review);
  return access({ username: spec.user ?? "", groups: spec.groups ?? [] }, spec, api);
}

/** About another user in the namespace of the path, and nowhere else. Throws Invalid. */
export function localAccessReview(review: UnstructuredObject, call: Call, api: Api): Promise<object> {
  const { namespace = "" } = specOf(review).resourceAttributes ?? {};
  if (namespace !== call.segments[4]) {
    const message = `Invalid value: ${JSON.stringify(namespace)}: must match metadata.namespace`;
    const cause = { reason: "FieldValueInvalid", message, field: "spec.resourceAttributes.namespace" };
    throw invalid({ group: "authorization.k8s.io", kind: "LocalSubjectAccessReview" }, "", [cause]);
  }
  return accessReview(review, call, api);
}

/** `kubectl auth can-i --list`. */
export async function rulesReview(
  review: UnstructuredObject,
  { user }: Call,
  { authorizer }: Api,
): Promise<object> {
  const rules = await authorizer.rulesFor(user, specOf(review).namespace ?? "");
  return {
    incomplete: false,
    resourceRules: rules
      .filter(({ resources }) => resources !== undefined)
      .map(({ verbs, apiGroups = [], resources, resourceNames = [] }) => ({
        verbs,
        apiGroups,
        resources,
        resourceNames,
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs !== undefined)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
  };
}
