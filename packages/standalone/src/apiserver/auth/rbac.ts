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
    const mine = bindings.filter(({ subjects = [] }) => subjects.some((subject) => isAbout(subject, user)));
    const rules = await Promise.all(mine.map((binding) => this.#rulesOf(binding)));
    return rules.flat();
  }

  async #rulesOf({ roleRef, metadata }: Binding): Promise<readonly PolicyRule[]> {
    const name = roleRef?.name ?? "";
    const { namespace = "" } = metadata;
    const role =
      roleRef?.kind === "Role"
        ? this.#store.get(Roles, { namespace, name })
        : this.#store.get(ClusterRoles, { name });
    // A binding to a role that is not there grants nothing.
    const found = await role.catch(() => undefined);
    return Array.isArray(found?.rules) ? (found.rules as PolicyRule[]) : [];
  }
}

/** A group may have the name of anything. */
function rulesOfGroup(group: string): readonly PolicyRule[] {
  return (Object.hasOwn(GROUP_RULES, group) ? GROUP_RULES[group] : undefined) ?? [];
}

function isAbout({ kind, name = "", namespace = "" }: Subject, { username, groups }: User): boolean {
  if (kind === "User") return name === username;
  if (kind === "Group") return groups.includes(name);
  return kind === "ServiceAccount" && username === `system:serviceaccount:${namespace}:${name}`;
}
