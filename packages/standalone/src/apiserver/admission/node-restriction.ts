import { forbidden, Pods, type UnstructuredObject } from "@mooring/store";
import type { Api } from "../api.ts";
import type { TokenOrder } from "../auth/service-account.ts";
import type { Call, User } from "../http/call.ts";

const PREFIX = "system:node:";

/** The node that speaks; undefined: it is none. */
export function nodeOf({ username, groups }: User): string | undefined {
  const name = username.startsWith(PREFIX) ? username.slice(PREFIX.length) : "";
  return name !== "" && groups.includes("system:nodes") ? name : undefined;
}

/** A node gets tokens for pods only that it runs, bound to them. Throws Forbidden. */
export async function requireOwnPod(
  { user }: Call,
  bound: TokenOrder["boundTo"],
  { store }: Api,
  namespace: string,
): Promise<void> {
  const node = nodeOf(user);
  if (node === undefined) return;
  const account = { group: "", plural: "serviceaccounts", kind: "ServiceAccount" };
  if (bound?.kind !== "Pod")
    throw forbidden(account, bound?.name ?? "", "node requested token not bound to a pod");
  const pod = (await store.get(Pods, { namespace, name: bound.name })) as unknown as UnstructuredObject;
  const { nodeName } = (pod.spec ?? {}) as { nodeName?: string };
  if (nodeName !== node)
    throw forbidden(account, bound.name, "node requested token bound to a pod scheduled on a different node");
}
