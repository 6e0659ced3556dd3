import assert from "node:assert/strict";
import { test } from "node:test";
import { unusedRights } from "../kubernetes/real/support/used-rights.mjs";

const ROLES = `
kind: ClusterRole
metadata: {name: mooring-node}
rules: [{apiGroups: [""], resources: [events], verbs: [get, create]}]
---
kind: Role
metadata: {name: mooring-node, namespace: kube-system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list]}]
`;
const unused = (...used: string[]) => unusedRights(ROLES, { step: { used: { "mooring-node": used } } });

test("a right of one namespace is not used by reading in another one, one of the cluster is used anywhere", () => {
  const lease = "mooring-node: get coordination.k8s.io/leases in kube-system";
  const leases = "mooring-node: list coordination.k8s.io/leases in kube-system";
  assert.deepEqual(unused(), ["mooring-node: get /events", "mooring-node: create /events", lease, leases]);
  assert.deepEqual(
    unused("get /events in mooring", "create /events", "list coordination.k8s.io/leases in mooring"),
    [lease, leases],
  );
  assert.deepEqual(unused("get /events", "create /events", "get coordination.k8s.io/leases in kube-system"), [
    leases,
  ]);
});

test("what another account has used does not count", () => {
  const steps = { step: { used: { "mooring-controller": ["get /events", "create /events"] } } };
  assert.equal(unusedRights(ROLES, steps).length, 4);
});
