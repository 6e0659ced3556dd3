import { badRequest, defined } from "@mooring/store";
import type { Call, User } from "../http/call.ts";
import type { Attributes } from "./attributes.ts";
import { forbidden } from "./authorize.ts";
import type { Authorizer } from "./rbac.ts";
import { serviceAccountUser } from "./service-account.ts";

const EXTRA = "impersonate-extra-";
const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** What a request has about the user it wants to be. */
interface Wanted {
  username: string;
  uid?: string;
  groups: readonly string[];
  extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * `kubectl --as`: the user that the request speaks for, when the caller may be that user, each of the groups, the uid and
 * every extra value. Throws Forbidden, and BadRequest where the rest comes without a user.
 */
export async function impersonate(call: Call, authorizer: Authorizer): Promise<User> {
  const wanted = wantedBy(call);
  if (wanted === undefined) return call.user;
  for (const attributes of asked(wanted))
    if (!(await authorizer.allowed(call.user, attributes))) throw forbidden(call.user, attributes);
  return asUser(wanted);
}

function wantedBy(call: Call): Wanted | undefined {
  const { headers } = call.request;
  const username = one(headers["impersonate-user"]) ?? "";
  const uid = one(headers["impersonate-uid"]);
  const groups = valuesOf(call, "impersonate-group");
  const extra = extraOf(call);
  const others = groups.length > 0 || uid !== undefined || Object.keys(extra).length > 0;
  if (username === "" && others)
    throw badRequest("Impersonate-Group, -Uid and -Extra- need Impersonate-User: name the user as well");
  return username === "" ? undefined : { username, groups, extra, ...defined({ uid }) };
}

/** One access check for each thing that the request wants to be. */
function* asked({ username, uid, groups, extra }: Wanted): Generator<Attributes, void> {
  const about = (resource: string, name: string, more: object = {}): Attributes => ({
    ...{ type: "resource", verb: "impersonate", group: "", resource, subresource: "", name, namespace: "" },
    ...more,
  });
  const account = ACCOUNT.exec(username);
  if (account === null) yield about("users", username);
  else yield about("serviceaccounts", account[2] ?? "", { namespace: account[1] });
  for (const name of groups) yield about("groups", name);
  const group = "authentication.k8s.io";
  for (const [key, values] of Object.entries(extra))
    for (const value of values) yield about("userextras", value, { group, subresource: key });
  if (uid !== undefined) yield about("uids", uid, { group });
}

function asUser({ username, uid, groups, extra }: Wanted): User {
  const account = ACCOUNT.exec(username);
  const base =
    account === null ? { username, groups: [] } : serviceAccountUser(account[1] ?? "", account[2] ?? "");
  const own = groups.length > 0 ? groups : base.groups;
  const implied = username === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  return {
    username,
    groups: [...new Set([...own, implied])],
    ...defined({ uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function extraOf(call: Call): Record<string, string[]> {
  const names = Object.keys(call.request.headers).filter((name) => name.startsWith(EXTRA));
  // Without a prototype: keys are an untrusted client's.
  const extra: Record<string, string[]> = Object.create(null);
  for (const name of names) extra[decoded(name.slice(EXTRA.length))] = valuesOf(call, name);
  return extra;
}

/** A key that is no URL encoding is taken as it stands. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

/** Every value of a header that may be sent many times; node joins those with a comma. */
function valuesOf({ request }: Call, name: string): string[] {
  return request.headersDistinct[name] ?? [];
}
