import { setImmediate as nextTurn } from "node:timers/promises";
import { defineResource, type JsonStore, type UnstructuredObject } from "@mooring/store";
import type { User } from "../http/call.ts";
import type { Attributes } from "./attributes.ts";
import { nodeMay } from "./node-authorizer.ts";
import { nodeOf } from "./node-name.ts";
import { allows, GROUP_RULES, type PolicyRule } from "./rules.ts";

/** The API group of roles and bindings. */
export const RBAC_GROUP = "rbac.authorization.k8s.io";
const define = (kind: string, namespaced: boolean) =>
  defineResource<UnstructuredObject>({
    group: RBAC_GROUP,
    version: "v1",
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced,
  });
/** Served at `/apis/rbac.authorization.k8s.io/v1/namespaces/NAMESPACE/roles`. */
export const Roles = define("Role", true);
const RoleBindings = define("RoleBinding", true);
/** Served at `/apis/rbac.authorization.k8s.io/v1/clusterroles`. */
export const ClusterRoles = define("ClusterRole", false);
const ClusterRoleBindings = define("ClusterRoleBinding", false);

interface Subject {
  kind?: string;
  name?: string;
  namespace?: string;
}

interface Binding extends UnstructuredObject {
  subjects?: Subject[];
  roleRef?: { kind?: string; name?: string };
}

interface RoleKey {
  kind: "Role" | "ClusterRole";
  namespace: string;
  name: string;
}

/** How long roles are read before others get their turn. */
const TURN_MS = 5;

/** Decides by the stored roles and bindings. */
export class Authorizer {
  readonly #store: JsonStore;

  constructor(store: JsonStore) {
    this.#store = store;
  }

  async allowed(user: User, attributes: Attributes): Promise<boolean> {
    const node = nodeOf(user);
    if (node !== undefined && (await nodeMay(node, attributes, this.#store))) return true;
    for (const group of user.groups) {
      if (rulesOfGroup(group).some((rule) => allows(rule, attributes))) return true;
    }
    const namespace = attributes.type === "resource" ? attributes.namespace : "";
    const rules = await this.#boundRules(user, namespace);
    return rules.some((rule) => allows(rule, attributes));
  }

  /** All rules that apply to the user in a namespace; empty: at the cluster scope. */
  async rulesFor(user: User, namespace: string): Promise<PolicyRule[]> {
    const given = user.groups.flatMap(rulesOfGroup);
    return [...given, ...(await this.#boundRules(user, namespace))];
  }

  async #boundRules(user: User, namespace: string): Promise<PolicyRule[]> {
    const cluster = await this.#store.list(ClusterRoleBindings);
    const local = namespace === "" ? [] : (await this.#store.list(RoleBindings, { namespace })).items;
    const bindings = [...cluster.items, ...local] as Binding[];
    const mine = bindings.filter(({ subjects = [], metadata }) =>
      subjects.some((subject) => isAbout(subject, user, metadata.namespace ?? "")),
    );
    return this.#rulesOf(rolesOf(mine));
  }

  /** Reads of the store come back at once: however many there are, others get their turn in between. */
  async #rulesOf(roles: readonly RoleKey[]): Promise<PolicyRule[]> {
    const rules: PolicyRule[] = [];
    let began = performance.now();
    for (const { kind, namespace, name } of roles) {
      const role =
        kind === "Role"
          ? this.#store.get(Roles, { namespace, name })
          : this.#store.get(ClusterRoles, { name });
      // A binding to a role that is not there grants nothing.
      const found = await role.catch(() => undefined);
      for (const rule of Array.isArray(found?.rules) ? (found.rules as PolicyRule[]) : []) rules.push(rule);
      if (performance.now() - began < TURN_MS) continue;
      await nextTurn();
      began = performance.now();
    }
    return rules;
  }
}

/** Every role once, however many bindings name it. */
function rolesOf(bindings: readonly Binding[]): RoleKey[] {
  const roles = new Map<string, RoleKey>();
  for (const { roleRef, metadata } of bindings) {
    const { name = "" } = roleRef ?? {};
    const role: RoleKey =
      roleRef?.kind === "Role"
        ? { kind: "Role", namespace: metadata.namespace ?? "", name }
        : { kind: "ClusterRole", namespace: "", name };
    roles.set(`${role.kind}/${role.namespace}/${name}`, role);
  }
  return [...roles.values()];
}

/** A group may have the name of anything. */
function rulesOfGroup(group: string): readonly PolicyRule[] {
  return (Object.hasOwn(GROUP_RULES, group) ? GROUP_RULES[group] : undefined) ?? [];
}

/** A service account without a namespace is of the binding's; a binding of the whole cluster has none to give. */
function isAbout({ kind, name = "", namespace }: Subject, { username, groups }: User, own: string): boolean {
  if (kind === "User") return name === username;
  if (kind === "Group") return groups.includes(name);
  return kind === "ServiceAccount" && username === `system:serviceaccount:${namespace || own}:${name}`;
}
