import { StatusError } from "@mooring/store";
import type { Call, User } from "../http/call.ts";
import { type Attributes, attributesOf } from "./attributes.ts";
import type { Authorizer } from "./rbac.ts";

/** Throws Forbidden (403) with Kubernetes' message unless the caller may do what the request asks. */
export async function authorize(call: Call, authorizer: Authorizer): Promise<void> {
  const attributes = attributesOf(call);
  if (!(await authorizer.allowed(call.user, attributes))) throw forbidden(call.user, attributes);
}

/** Forbidden (403), with the message of Kubernetes. */
export function forbidden({ username }: User, attributes: Attributes): StatusError {
  const who = `User ${JSON.stringify(username)}`;
  if (attributes.type === "path") {
    const what = `cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`;
    return new StatusError("Forbidden", `forbidden: ${who} ${what}`);
  }
  const { verb, group, resource, subresource, name, namespace } = attributes;
  const of = group === "" ? resource : `${resource}.${group}`;
  const subject = name === "" ? of : `${of} ${JSON.stringify(name)}`;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  const what = `cannot ${verb} resource ${JSON.stringify(full)} in API group ${JSON.stringify(group)} ${where}`;
  return new StatusError("Forbidden", `${subject} is forbidden: ${who} ${what}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  });
}
