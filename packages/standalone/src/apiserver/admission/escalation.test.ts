import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
  const rules = [
    {
      verbs: ["create", "update", "patch"],
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["roles", "rolebindings"],
    },
    { verbs: ["get", "list"], apiGroups: [""], resources: ["configmaps"] },
  ];
  await must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role("ClusterRole", "giver", rules));
  await must("POST", ROLES("rolebindings"), binding("giver", "giver", "gina"));
});
after(() => server.stop());

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const ROLES = (plural: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/default/${plural}`;
const role = (kind: string, name: string, rules: object[]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name },
  rules,
});
const binding = (name: string, roleName: string, user: string) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name },
  subjects: [{ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }],
  roleRef: { kind: "ClusterRole", name: roleName, apiGroup: "rbac.authorization.k8s.io" },
});

async function must(method: string, path: string, body: object): Promise<void> {
  const response = await server.http.send(path, { method, body });
  assert.ok(response.status < 300, response.text);
}

const as = (user: string) => ({ "impersonate-user": user });
const post = (path: string, body: object, user: string) => server.http.post(path, body, as(user));

test("nobody gives away by a role what they have not got", async () => {
  const secrets = role("Role", "more", [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }]);
  const refused = await post(ROLES("roles"), secrets, "gina");
  assert.equal(refused.status, 403);
  assert.match(
    refused.json.message,
    /is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}/,
  );
  const less = role("Role", "less", [{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }]);
  assert.equal((await post(ROLES("roles"), less, "gina")).status, 201);
  const grown = { ...less, rules: secrets.rules };
  const put = { method: "PUT", body: grown, headers: as("gina") };
  assert.equal((await server.http.send(`${ROLES("roles")}/less`, put)).status, 403);
  const patch = {
    method: "PATCH",
    body: { rules: secrets.rules },
    headers: { ...as("gina"), "content-type": "application/merge-patch+json" },
  };
  assert.equal((await server.http.send(`${ROLES("roles")}/less`, patch)).status, 403);
});

test("nobody binds a role that gives more than they have, unless they may bind it", async () => {
  assert.equal((await post(ROLES("rolebindings"), binding("me", "admin", "gina"), "gina")).status, 403);
  const may = [{ verbs: ["bind"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"] }];
  const named = may.map((rule) => ({ ...rule, resourceNames: ["view"] }));
  await must("POST", ROLES("roles"), role("Role", "binder", named));
  const toRole = binding("binder", "binder", "gina");
  await must("POST", ROLES("rolebindings"), { ...toRole, roleRef: { ...toRole.roleRef, kind: "Role" } });
  assert.equal((await post(ROLES("rolebindings"), binding("v", "view", "gina"), "gina")).status, 201);
  assert.equal((await post(ROLES("rolebindings"), binding("e", "edit", "gina"), "gina")).status, 403);
});

test("an apply of what is not there needs to be allowed to create", async () => {
  const rules = [{ verbs: ["patch", "get"], apiGroups: [""], resources: ["configmaps"] }];
  await must("POST", ROLES("roles"), role("Role", "patcher", rules));
  const toRole = binding("patcher", "patcher", "pat");
  await must("POST", ROLES("rolebindings"), { ...toRole, roleRef: { ...toRole.roleRef, kind: "Role" } });
  const path = `${CONFIG_MAPS}/new?fieldManager=pat`;
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "new" } };
  const headers = { ...as("pat"), "content-type": "application/apply-patch+yaml" };
  const refused = await server.http.send(path, { method: "PATCH", body, headers });
  assert.equal(refused.status, 403);
  assert.match(refused.json.message, /cannot create resource "configmaps"/);
});

test("an apply that finds its object gone while it is worked on does not make it again", async () => {
  const path = `${CONFIG_MAPS}/vanishing`;
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "vanishing" } };
  const headers = { ...as("pat"), "content-type": "application/apply-patch+yaml" };
  for (let round = 0; round < 100; round += 1) {
    await must("POST", CONFIG_MAPS, body);
    const apply = server.http.send(`${path}?fieldManager=pat`, { method: "PATCH", headers, body });
    const [, applied] = await Promise.all([server.http.delete(path), apply]);
    assert.ok([200, 403, 404].includes(applied.status), applied.text);
    assert.equal((await server.http.get(path)).status, 404);
  }
});

test("each part of an impersonated user has to be allowed", async () => {
  const rules = [{ verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["rita"] }];
  const kind = "ClusterRoleBinding";
  const path = "/apis/rbac.authorization.k8s.io/v1";
  await must("POST", `${path}/clusterroles`, role("ClusterRole", "actor", rules));
  await must("POST", `${path}/clusterrolebindings`, {
    ...binding("actor", "actor", "system:serviceaccount:default:default"),
    kind,
  });
  const account = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const { json } = await server.http.post<{ status: { token: string } }>(account, { spec: {} });
  const { token } = json.status;
  const ask = async (headers: Record<string, string>) =>
    (await server.http.send("/api", { token, headers })).status;
  assert.equal(await ask({ "impersonate-user": "rita" }), 200);
  assert.equal(await ask({ "impersonate-user": "anna" }), 403);
  assert.equal(await ask({ "impersonate-user": "rita", "impersonate-group": "crew" }), 403);
  assert.equal(await ask({ "impersonate-user": "rita", "impersonate-uid": "7" }), 403);
  assert.equal(await ask({ "impersonate-user": "rita", "impersonate-extra-scopes": "view" }), 403);
  assert.equal(await ask({ "impersonate-user": "system:serviceaccount:default:default" }), 403);
  assert.equal(await ask({ "impersonate-uid": "7" }), 400);
});

test("a key of an extra that is no URL encoding is no fault of the server", async () => {
  const headers = { ...as("rita"), "impersonate-extra-%zz": "x" };
  assert.notEqual((await server.http.get("/api", headers)).status, 500);
});

test("view, edit and admin are made of the roles that say so", async () => {
  const kubectlLabel = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
  const extra = role("ClusterRole", "more-to-see", [
    { verbs: ["get"], apiGroups: ["example.org"], resources: ["things"] },
  ]);
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  await must("POST", path, { ...extra, metadata: { ...extra.metadata, labels: kubectlLabel } });
  for (const name of ["view", "edit", "admin"]) {
    await eventually(`${name} has the rule`, async () => {
      const { text } = await server.http.get(`${path}/${name}`);
      return text.includes('"things"');
    });
  }
});
