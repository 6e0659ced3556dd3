import { defineResource, type UnstructuredObject } from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digList,
  digStrings,
  digText,
  wide,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, invalid, notSupported, required } from "../../schema/field-error.ts";
import { jsonEqual } from "../../schema/model.ts";
import type { KindRules } from "../../schema/strategy.ts";
import { rbacTypes } from "../types/other-groups.ts";

const GROUP = "rbac.authorization.k8s.io";
const createdAt = column("Created At", (role) => role.metadata.creationTimestamp ?? "");

const roleRules: KindRules = {
  name: "path",
  validate: (role) =>
    digList(role, "rules").flatMap((rule, i) =>
      digStrings(rule, "verbs").length > 0
        ? []
        : [required(`rules[${i}].verbs`, "verbs must contain at least one value")],
    ),
};

function bindingErrors(binding: UnstructuredObject): FieldError[] {
  const errors: FieldError[] = [];
  const kind = dig(binding, "roleRef", "kind");
  const kinds = binding.kind === "RoleBinding" ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (!kinds.includes(String(kind))) errors.push(notSupported("roleRef.kind", kind, kinds));
  if (digText(binding, "roleRef", "name") === "") errors.push(required("roleRef.name"));
  for (const [i, subject] of digList(binding, "subjects").entries()) {
    if (digText(subject, "name") === "") errors.push(required(`subjects[${i}].name`));
    if (subject.kind === "ServiceAccount" && digText(subject, "namespace") === "") {
      errors.push(required(`subjects[${i}].namespace`));
    }
  }
  return errors;
}

const bindingRules: KindRules = {
  name: "path",
  defaults(binding) {
    for (const subject of digList(binding, "subjects")) {
      if (subject.kind !== "ServiceAccount") subject.apiGroup ??= GROUP;
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

/** Stored so that charts install; nothing here is enforced. */
export const accessKinds: readonly BuiltinKind[] = [
  kind("Role", true),
  kind("ClusterRole", false),
  kind("RoleBinding", true),
  kind("ClusterRoleBinding", false),
];
