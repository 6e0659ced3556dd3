import type { Call, User } from "../http/call.ts";
import { forbidden } from "./authorize.ts";
import type { Authorizer } from "./rbac.ts";
import { serviceAccountUser } from "./service-account.ts";

const EXTRA = "impersonate-extra-";

/** `kubectl --as`: the user that the request speaks for, when the caller may do that. Throws Forbidden. */
export async function impersonate(call: Call, authorizer: Authorizer): Promise<User> {
  const { headers } = call.request;
  const username = one(headers["impersonate-user"]);
  const groups = valuesOf(call, "impersonate-group");
  if (username === undefined && groups.length === 0) return call.user;
  const wanted = [["users", username ?? ""], ...groups.map((group) => ["groups", group])];
  for (const [resource = "", name = ""] of wanted) {
    const attributes = {
      type: "resource",
      verb: "impersonate",
      group: "",
      resource,
      subresource: "",
      name,
      namespace: "",
    } as const;
    if (!(await authorizer.allowed(call.user, attributes))) throw forbidden(call.user, attributes);
  }
  return asUser(username ?? "", groups, call);
}

function asUser(username: string, groups: string[], call: Call): User {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username);
  const base =
    account === null ? { username, groups: [] } : serviceAccountUser(account[1] ?? "", account[2] ?? "");
  const own = groups.length > 0 ? groups : base.groups;
  const implied = username === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  const uid = one(call.request.headers["impersonate-uid"]);
  const extra = extraOf(call);
  return {
    username,
    groups: [...new Set([...own, implied])],
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function extraOf(call: Call): Record<string, string[]> {
  const names = Object.keys(call.request.headers).filter((name) => name.startsWith(EXTRA));
  return Object.fromEntries(
    names.map((name) => [decodeURIComponent(name.slice(EXTRA.length)), valuesOf(call, name)]),
  );
}

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

/** Every value of a header that may be sent many times; node joins those with a comma. */
function valuesOf({ request }: Call, name: string): string[] {
  return request.headersDistinct[name] ?? [];
}
