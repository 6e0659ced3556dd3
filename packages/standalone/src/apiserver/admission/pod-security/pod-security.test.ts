import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const KEY = "pod-security.kubernetes.io/";
const pod = (spec: object = {}, container: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "host", ...container }], ...spec },
});
const NICE = {
  securityContext: {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  },
};

async function namespace(name: string, labels: Record<string, string>): Promise<string> {
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
  const response = await server.http.post("/api/v1/namespaces", body);
  assert.equal(response.status, 201, response.text);
  return `/api/v1/namespaces/${name}/pods`;
}

test("a restricted namespace takes only pods that gave everything up", async () => {
  const path = await namespace("strict", { [`${KEY}enforce`]: "restricted" });
  const refused = await server.http.post(path, pod());
  assert.equal(refused.status, 403);
  assert.equal(
    refused.json.message,
    'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  );
  const volumes = [{ name: "root", hostPath: { path: "/" } }];
  assert.equal((await server.http.post(path, pod({ volumes }, NICE))).status, 403);
  assert.equal((await server.http.post(path, pod({}, NICE))).status, 201);
});

test("a baseline namespace refuses the ways out of a container", async () => {
  const path = await namespace("base", { [`${KEY}enforce`]: "baseline" });
  const capabilities = { securityContext: { capabilities: { add: ["SYS_ADMIN"] } } };
  for (const wrong of [
    pod({ hostNetwork: true }),
    pod({ volumes: [{ name: "root", hostPath: { path: "/" } }] }),
    pod({}, capabilities),
    pod({}, { securityContext: { privileged: true } }),
    pod({}, { securityContext: { seccompProfile: { type: "Unconfined" } } }),
    pod({}, { ports: [{ containerPort: 80, hostPort: 80 }] }),
  ])
    assert.equal((await server.http.post(path, wrong)).status, 403, JSON.stringify(wrong.spec));
  assert.equal((await server.http.post(path, pod())).status, 201);
});

test("warn names what would be refused, and lets it pass", async () => {
  const path = await namespace("warned", { [`${KEY}warn`]: "baseline", [`${KEY}warn-version`]: "v1.28" });
  const response = await server.http.post(path, pod({ hostPID: true }));
  assert.equal(response.status, 201);
  assert.match(
    String(response.headers.warning),
    /would violate PodSecurity \\"baseline:v1\.28\\": host namespaces \(hostPID=true\)/,
  );
});

test("an image that is a folder of the machine is what a hostPath is", async () => {
  const path = await namespace("images", { [`${KEY}enforce`]: "baseline" });
  for (const image of ["dir:/srv/root", "oci:/srv/layout:v1"]) {
    const refused = await server.http.post(path, pod({}, { image }));
    assert.equal(refused.status, 403);
    assert.match(refused.json.message, /images of the machine's folders \(container "c" must not use/);
  }
  assert.equal((await server.http.post(path, pod({}, { image: "busybox:1.36" }))).status, 201);
});

test("a version before a control does not have it", async () => {
  const path = await namespace("old", {
    [`${KEY}enforce`]: "restricted",
    [`${KEY}enforce-version`]: "v1.18",
  });
  const most = { securityContext: { allowPrivilegeEscalation: false, runAsNonRoot: true } };
  assert.equal((await server.http.post(path, pod({}, most))).status, 201);
});

test("an unknown level is refused, and a stricter one warns of the pods that break it", async () => {
  const labels = { [`${KEY}enforce`]: "strictest" };
  const wrong = { apiVersion: "v1", kind: "Namespace", metadata: { name: "wrong", labels } };
  assert.equal((await server.http.post("/api/v1/namespaces", wrong)).status, 422);
  const path = await namespace("later", {});
  assert.equal((await server.http.post(path, pod({ hostIPC: true }))).status, 201);
  const patch = { metadata: { labels: { [`${KEY}enforce`]: "baseline" } } };
  const response = await server.http.patch("/api/v1/namespaces/later", "merge-patch+json", patch);
  assert.equal(response.status, 200);
  assert.match(
    String(response.headers.warning),
    /existing pods in namespace .*p: host namespaces \(hostIPC=true\)/s,
  );
});

test("a pod of a service account that is not there is refused, but for the one that is made by itself", async () => {
  const path = await namespace("accounts", {});
  const refused = await server.http.post(path, pod({ serviceAccountName: "robot" }));
  assert.equal(refused.status, 403);
  assert.equal(
    refused.json.message,
    'pods "p" is forbidden: error looking up service account accounts/robot: serviceaccount "robot" not found',
  );
  assert.equal((await server.http.post(path, pod())).status, 201, "at once, with its namespace");
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
  await server.http.post("/api/v1/namespaces/accounts/serviceaccounts", account);
  const robot = { ...pod({ serviceAccountName: "robot" }), metadata: { name: "robot" } };
  assert.equal((await server.http.post(path, robot)).status, 201);
});

test("a priority class that is not there is refused, and those of the system have their priority", async () => {
  const path = "/api/v1/namespaces/default/pods";
  const refused = await server.http.post(path, pod({ priorityClassName: "mine" }));
  assert.equal(refused.status, 403);
  assert.match(refused.json.message, /no PriorityClass with name mine was found/);
  const response = await server.http.post<{ spec: { priority: number } }>(
    path,
    pod({ priorityClassName: "system-node-critical" }),
  );
  assert.equal(response.json.spec.priority, 2_000_001_000);
  const own = await namespace("priorities", {});
  for (const [spec, why] of [
    [{ priority: 5 }, "the integer value of priority (5) must not be provided in pod spec"],
    [{ priority: 0, priorityClassName: "system-node-critical" }, "computed 2000001000 from the given"],
    [{ preemptionPolicy: "Never" }, "the string value of PreemptionPolicy (Never) must not be provided"],
  ] as const) {
    const { status, json } = await server.http.post(own, pod(spec));
    assert.equal(status, 403, JSON.stringify(spec));
    assert.ok(json.message.includes(why), json.message);
  }
});
