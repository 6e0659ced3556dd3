import assert from "node:assert/strict";
import { test } from "node:test";
import { admitCreate } from "../../schema/strategy.ts";
import { failure, kindOf, object } from "../testing/admit.ts";

const GROUP = "rbac.authorization.k8s.io";
const get = { verbs: ["get"] };
const account = { kind: "ServiceAccount", name: "builder" };
const bound = (subject: Record<string, unknown>, roleRef: Record<string, unknown> = {}) => ({
  roleRef: { kind: "ClusterRole", name: "r", ...roleRef },
  subjects: [subject],
});

/** `expected`: what the message ends with; empty: the object is taken. */
const CASES: { kind: string; fields: Record<string, unknown>; expected: string }[] = [
  { kind: "Role", fields: { rules: [{ ...get, apiGroups: [""], resources: ["pods"] }] }, expected: "" },
  {
    kind: "Role",
    fields: { rules: [{ ...get, resources: ["pods"] }] },
    expected: "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
  },
  {
    kind: "ClusterRole",
    fields: { rules: [{ ...get, apiGroups: [""] }] },
    expected: "rules[0].resources: Required value: resource rules must supply at least one resource",
  },
  { kind: "ClusterRole", fields: { rules: [{ ...get, nonResourceURLs: ["/metrics"] }] }, expected: "" },
  {
    kind: "Role",
    fields: { rules: [{ ...get, nonResourceURLs: ["/metrics"] }] },
    expected:
      'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: namespaced rules cannot apply to non-resource URLs',
  },
  {
    kind: "ClusterRole",
    fields: { rules: [{ ...get, nonResourceURLs: ["/metrics"], resources: ["pods"] }] },
    expected:
      'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: rules cannot apply to both regular resources and non-resource URLs',
  },
  { kind: "RoleBinding", fields: bound(account), expected: "" },
  {
    kind: "ClusterRoleBinding",
    fields: bound(account),
    expected: "subjects[0].namespace: Required value",
  },
  {
    kind: "RoleBinding",
    fields: bound({ ...account, name: "Builder_1" }),
    expected: 'subjects[0].name: Invalid value: "Builder_1": a lowercase RFC 1123 subdomain must consist of',
  },
  {
    kind: "RoleBinding",
    fields: bound({ ...account, apiGroup: GROUP }),
    expected: `subjects[0].apiGroup: Unsupported value: "${GROUP}": supported values: ""`,
  },
  {
    kind: "RoleBinding",
    fields: bound({ kind: "User", name: "rita", apiGroup: "v1" }),
    expected: `subjects[0].apiGroup: Unsupported value: "v1": supported values: "${GROUP}"`,
  },
  {
    kind: "RoleBinding",
    fields: bound({ kind: "Robot", name: "r2" }),
    expected:
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
  },
  {
    kind: "RoleBinding",
    fields: bound(account, { apiGroup: "v1" }),
    expected: `roleRef.apiGroup: Unsupported value: "v1": supported values: "${GROUP}"`,
  },
];

test("roles and bindings are taken that can be applied, and others refused", () => {
  for (const { kind: name, fields, expected } of CASES) {
    const kind = kindOf(name);
    const message = failure(() => admitCreate(kind, object(kind, fields)));
    assert.ok(expected === "" ? message === "" : message.includes(`: ${expected}`), message || expected);
  }
});

test("the group of a user, a group and a role is filled in", () => {
  const kind = kindOf("RoleBinding");
  const fields = bound({ kind: "User", name: "rita", apiGroup: "" }, { apiGroup: "" });
  const made = admitCreate(kind, object(kind, fields));
  assert.deepEqual(made.subjects, [{ kind: "User", name: "rita", apiGroup: GROUP }]);
  assert.deepEqual(made.roleRef, { kind: "ClusterRole", name: "r", apiGroup: GROUP });
});
