import { defineResource, type UnstructuredObject } from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  digList,
  digObject,
  digStrings,
  digText,
  wide,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, invalid, notSupported, required } from "../../schema/field-error.ts";
import { nameProblems } from "../../schema/formats.ts";
import { jsonEqual } from "../../schema/model.ts";
import type { KindRules } from "../../schema/strategy.ts";
import { rbacTypes } from "../types/other-groups.ts";

const GROUP = "rbac.authorization.k8s.io";
const SUBJECTS = ["ServiceAccount", "User", "Group"];
const createdAt = column("Created At", (role) => role.metadata.creationTimestamp ?? "");

function ruleErrors(role: UnstructuredObject): FieldError[] {
  return digList(role, "rules").flatMap((rule, i) => {
    const path = `rules[${i}]`;
    const has = (field: string) => digStrings(rule, field).length > 0;
    const errors = has("verbs") ? [] : [required(`${path}.verbs`, "verbs must contain at least one value")];
    if (has("nonResourceURLs")) return [...errors, ...urlErrors(role.kind, rule, `${path}.nonResourceURLs`)];
    if (!has("apiGroups"))
      errors.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
    if (!has("resources"))
      errors.push(required(`${path}.resources`, "resource rules must supply at least one resource"));
    return errors;
  });
}

/** Paths are of no namespace, and a rule is about them or about resources. */
function urlErrors(kind: string, rule: Record<string, unknown>, field: string): FieldError[] {
  const urls = rule.nonResourceURLs;
  const errors: FieldError[] = [];
  if (kind === "Role")
    errors.push(invalid(field, urls, "namespaced rules cannot apply to non-resource URLs"));
  if (["apiGroups", "resources", "resourceNames"].some((of) => digStrings(rule, of).length > 0)) {
    const detail = "rules cannot apply to both regular resources and non-resource URLs";
    errors.push(invalid(field, urls, detail));
  }
  return errors;
}

const roleRules: KindRules = { name: "path", validate: ruleErrors };

function bindingErrors(binding: UnstructuredObject): FieldError[] {
  const errors: FieldError[] = [];
  const { apiGroup, kind } = digObject(binding, "roleRef");
  const kinds = binding.kind === "RoleBinding" ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (apiGroup !== GROUP) errors.push(notSupported("roleRef.apiGroup", apiGroup ?? "", [GROUP]));
  if (!kinds.includes(String(kind))) errors.push(notSupported("roleRef.kind", kind, kinds));
  if (digText(binding, "roleRef", "name") === "") errors.push(required("roleRef.name"));
  for (const [i, subject] of digList(binding, "subjects").entries())
    errors.push(...subjectErrors(subject, `subjects[${i}]`, binding.kind === "RoleBinding"));
  return errors;
}

/** In a namespace, a service account without one is of the binding's. */
function subjectErrors(subject: Record<string, unknown>, path: string, inNamespace: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const [name, namespace] = [digText(subject, "name"), digText(subject, "namespace")];
  if (name === "") errors.push(required(`${path}.name`));
  if (!SUBJECTS.includes(String(subject.kind)))
    return [...errors, notSupported(`${path}.kind`, subject.kind, SUBJECTS)];
  const isAccount = subject.kind === "ServiceAccount";
  const group = isAccount ? "" : GROUP;
  if (isAccount && name !== "")
    errors.push(...nameProblems("subdomain", name).map((problem) => invalid(`${path}.name`, name, problem)));
  if ((subject.apiGroup ?? "") !== group)
    errors.push(notSupported(`${path}.apiGroup`, subject.apiGroup ?? "", [group]));
  if (isAccount && !inNamespace && namespace === "") errors.push(required(`${path}.namespace`));
  return errors;
}

const bindingRules: KindRules = {
  name: "path",
  defaults(binding) {
    const role = digObject(binding, "roleRef");
    if (role.apiGroup === "") role.apiGroup = GROUP;
    for (const subject of digList(binding, "subjects")) {
      if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= GROUP;
    }
  },
  validate: bindingErrors,
  validateUpdate: (next, old) =>
    jsonEqual(next.roleRef, old.roleRef) ? [] : [invalid("roleRef", next.roleRef, "cannot change roleRef")],
};

const names = (binding: UnstructuredObject, kind: string): string =>
  digList(binding, "subjects")
    .filter((subject) => subject.kind === kind)
    .map((s) =>
      kind === "ServiceAccount" ? `${digText(s, "namespace")}/${digText(s, "name")}` : digText(s, "name"),
    )
    .join(", ");

const bindingColumns = [
  column("Role", (b) => `${digText(b, "roleRef", "kind")}/${digText(b, "roleRef", "name")}`),
  ageColumn,
  wide("Users", (b) => names(b, "User")),
  wide("Groups", (b) => names(b, "Group")),
  wide("ServiceAccounts", (b) => names(b, "ServiceAccount")),
];

function kind(name: string, namespaced: boolean): BuiltinKind {
  const lower = name.toLowerCase();
  const isBinding = name.endsWith("Binding");
  return {
    resource: defineResource({ group: GROUP, version: "v1", kind: name, plural: `${lower}s`, namespaced }),
    schema: rbacTypes.get(name),
    singular: lower,
    columns: isBinding ? bindingColumns : [createdAt],
    rules: isBinding ? bindingRules : roleRules,
  };
}

/** Roles and who has them: what requests are allowed by (`apiserver/auth/rbac.ts`). */
export const accessKinds: readonly BuiltinKind[] = [
  kind("Role", true),
  kind("ClusterRole", false),
  kind("RoleBinding", true),
  kind("ClusterRoleBinding", false),
];
