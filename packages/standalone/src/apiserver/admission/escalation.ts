import { forbidden, type JsonStore, type UnstructuredObject } from "@mooring/store";
import { isObject } from "../../schema/model.ts";
import type { Attributes } from "../auth/attributes.ts";
import { describeRule, uncovered } from "../auth/covers.ts";
import { ClusterRoles, RBAC_GROUP, Roles } from "../auth/rbac.ts";
import { allows, type PolicyRule } from "../auth/rules.ts";
import type { User } from "../http/call.ts";
import type { Target } from "../resources/target.ts";

/**
 * Reviews an object before it is written; `old` is undefined when it is created. Throws the reason to refuse it.
 */
export type Admit = (next: UnstructuredObject, old: UnstructuredObject | undefined) => void;

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

interface Granting {
  user: User;
  target: Target;
  /** The user's own rules where the object is, or at the cluster scope. */
  held: readonly PolicyRule[];
  store: JsonStore;
}

/** No user gives away by a role or a binding what they do not have themselves, unless they may `escalate` or `bind`. */
export function escalationCheck(granting: Granting): Admit | undefined {
  const { target, user } = granting;
  if (target.group !== RBAC_GROUP || user.groups.includes("system:masters")) return undefined;
  if (target.plural === "roles" || target.plural === "clusterroles")
    return (next, old) => checkRole(granting, next, old);
  return (next, old) => checkBinding(granting, next, old);
}

const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** Nothing is changed but what the garbage collector changes: a user who writes another's role takes it on. */
function isCollected(next: UnstructuredObject, old: UnstructuredObject): boolean {
  const rest = ({ metadata, ...object }: UnstructuredObject) => {
    const { ownerReferences: _, finalizers: __, resourceVersion: ___, ...named } = metadata;
    const { managedFields: ____, generation: _____, ...others } = named;
    return inOrder({ ...object, metadata: others });
  };
  return same(rest(next), rest(old));
}

/** With its fields in one order: those of two writers come in any. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, child]) => child !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, child]) => [key, inOrder(child)]),
  );
}

function checkRole(granting: Granting, next: UnstructuredObject, old: UnstructuredObject | undefined): void {
  const { target } = granting;
  if (old !== undefined && isCollected(next, old)) return;
  if (may(granting, "escalate", target.plural, next.metadata.name)) return;
  refuse(granting, next, rulesOf(next));
  const aggregates = next.aggregationRule !== undefined && !same(next.aggregationRule, old?.aggregationRule);
  if (aggregates && uncovered(granting.held, EVERYTHING).length > 0) {
    const why = "must have cluster-admin privileges to use the aggregationRule";
    throw forbidden(target.resource, next.metadata.name, why);
  }
}

function checkBinding(
  granting: Granting,
  next: UnstructuredObject,
  old: UnstructuredObject | undefined,
): void {
  if (old !== undefined && isCollected(next, old)) return;
  const { kind = "", name = "" } = (next.roleRef ?? {}) as { kind?: string; name?: string };
  const plural = kind === "Role" ? "roles" : "clusterroles";
  if (may(granting, "bind", plural, name)) return;
  refuse(granting, next, rulesOf(roleOf(granting, plural, name)));
}

function roleOf({ store, target }: Granting, plural: string, name: string): UnstructuredObject {
  const json =
    plural === "roles"
      ? store.getJson(Roles, { namespace: target.namespace ?? "", name })
      : store.getJson(ClusterRoles, { name });
  return JSON.parse(json) as UnstructuredObject;
}

function may({ held, target }: Granting, verb: string, resource: string, name: string): boolean {
  const namespace = target.namespace ?? "";
  const attributes: Attributes = {
    ...{ type: "resource", verb, group: RBAC_GROUP, resource, subresource: "", name, namespace },
  };
  return held.some((rule) => allows(rule, attributes));
}

function rulesOf({ rules }: UnstructuredObject): PolicyRule[] {
  return Array.isArray(rules) ? (rules as PolicyRule[]) : [];
}

function refuse({ held, user, target }: Granting, next: UnstructuredObject, rules: PolicyRule[]): void {
  const missing = uncovered(held, rules);
  if (missing.length === 0) return;
  const groups = `[${user.groups.map((group) => JSON.stringify(group)).join(" ")}]`;
  const what = missing.map(describeRule).join("\n");
  const why = `user ${JSON.stringify(user.username)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:\n${what}`;
  throw forbidden(target.resource, next.metadata.name, why);
}
