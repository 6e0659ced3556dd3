import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readAudit } from "../kubernetes/real/support/audit.mjs";
import { recordedRights, unusedInManifests, unusedRights } from "../kubernetes/real/support/used-rights.mjs";

test("every right that the roles give has been used on a real API server", async () => {
  assert.deepEqual(
    await unusedInManifests(await recordedRights()),
    [],
    "take it out of deploy/chart/templates/rbac.yaml, or use it in a flow of npm run test:kubernetes -- --only STEP --record",
  );
});

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

test("what the version before has used does not count, and what it was refused does", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-audit-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "audit.log");
  const asked = (verb: string, code: number) => ({
    ...{ verb, userAgent: "mooring", user: { username: "system:serviceaccount:mooring:mooring-node" } },
    ...{ objectRef: { resource: "events", namespace: "default" }, responseStatus: { code } },
    ...{ requestURI: "/api/v1/namespaces/default/events", requestReceivedTimestamp: "2026-01-01T00:00:00Z" },
  });
  const requests = [asked("get", 200), asked("list", 403), asked("create", 201)];
  await writeFile(file, requests.map((each) => `${JSON.stringify(each)}\n`).join(""));
  const { used, refused } = await readAudit({ file, starts: [] }, 2);
  assert.deepEqual(used, { "mooring-node": new Set(["create /events"]) });
  assert.equal(refused.length, 1);
  assert.match(refused[0] ?? "", /mooring-node: list \/events/);
});
