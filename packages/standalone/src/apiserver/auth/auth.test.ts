import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServiceAccounts } from "@mooring/store";
import { mustRun, programs, type Run, runner } from "../testing/kubectl.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;
let run: Run;
let kubectl: ReturnType<typeof mustRun>;
before(async () => {
  server = await startTestServer();
  run = runner((await programs()).kubectl, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  kubectl = mustRun(run);
});
after(() => server.stop());

test("roles decide what others than the administrator may do", async () => {
  await kubectl(["create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps"]);
  await kubectl(["create", "rolebinding", "reader", "--role=reader", "--user=rita"]);
  assert.match(await kubectl(["get", "cm", "--as=rita"]), /kube-root-ca\.crt/);
  const refused = await run(["delete", "cm", "kube-root-ca.crt", "--as=rita"]);
  assert.equal(
    refused.stderr,
    'Error from server (Forbidden): configmaps "kube-root-ca.crt" is forbidden: User "rita" cannot delete resource "configmaps" in API group "" in the namespace "default"\n',
  );
  assert.equal((await run(["get", "cm", "-n", "kube-system", "--as=rita"])).code, 1);
  assert.equal((await run(["get", "secrets", "--as=rita"])).code, 1);
  assert.equal(await kubectl(["auth", "can-i", "list", "configmaps", "--as=rita"]), "yes\n");
  assert.equal((await run(["auth", "can-i", "list", "configmaps", "--as=rita", "-A"])).stdout, "no\n");
  await kubectl(["create", "clusterrolebinding", "crew", "--clusterrole=view", "--group=crew"]);
  assert.equal(
    await kubectl(["auth", "can-i", "watch", "pods", "--as=anna", "--as-group=crew", "-A"]),
    "yes\n",
  );
  assert.equal((await run(["get", "ns", "--as=rita", "--as-group=other"])).code, 1);
  assert.match(await kubectl(["auth", "whoami", "--as=rita"]), /rita/);
});

test("nobody speaks for others without being allowed to", async () => {
  const { http } = server;
  const { token } = await issue("default");
  const headers = { "impersonate-user": "mooring-admin", "impersonate-group": "system:masters" };
  const response = await http.send("/api/v1/namespaces", { token, headers });
  assert.equal(response.status, 403);
  assert.match(response.json.message, /cannot impersonate resource "users"/);
});

test("a list is of no more than the selector that it was allowed for", async () => {
  const { http } = server;
  await kubectl(["create", "configmap", "open-to-nora", "--from-literal=a=b"]);
  await kubectl(["create", "role", "one", "--verb=list", "--resource=cm", "--resource-name=open-to-nora"]);
  await kubectl(["create", "rolebinding", "one", "--role=one", "--user=nora"]);
  const list = (fieldSelector: string) =>
    http.send(`/api/v1/namespaces/default/configmaps?${new URLSearchParams({ fieldSelector })}`, {
      headers: { "impersonate-user": "nora" },
    });
  const own = await list("metadata.name=open-to-nora");
  assert.deepEqual(
    own.json.items.map(({ metadata }) => metadata.name),
    ["open-to-nora"],
  );
  // Written so that one who splits at every comma sees a name in it: it selects all that are not called "x,metadata...".
  for (const selector of [
    "metadata.name!=x\\,metadata.name=open-to-nora",
    "metadata.namespace!=x\\,metadata.name=open-to-nora",
    "metadata.name!=open-to-nora",
    "",
  ]) {
    const { status, text } = await list(selector);
    assert.equal(status, 403, `${selector}: ${text}`);
  }
});

interface IssuedToken {
  token: string;
  expirationTimestamp: string;
}

async function issue(name: string, spec: object = {}): Promise<IssuedToken> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const response = await server.http.post<{ status: IssuedToken }>(path, { spec });
  assert.equal(response.status, 201, response.text);
  return response.json.status;
}

const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";

interface TokenReview {
  status: { authenticated: boolean; user: { username: string } };
}

test("a service account's token works for what is bound to it, until the account is gone", async () => {
  const { http, store } = server;
  await kubectl(["create", "serviceaccount", "robot"]);
  await kubectl(["create", "rolebinding", "robot", "--role=reader", "--serviceaccount=default:robot"]);
  const token = (await kubectl(["create", "token", "robot"])).trim();
  const read = () => http.send("/api/v1/namespaces/default/configmaps", { token });
  assert.equal((await read()).status, 200);
  assert.equal((await http.send("/api/v1/namespaces/default/secrets", { token })).status, 403);
  const review = await http.post<TokenReview>(TOKEN_REVIEWS, { spec: { token } });
  assert.equal(review.json.status.user.username, "system:serviceaccount:default:robot");
  const [head = "", body = "", signature = ""] = token.split(".");
  const forged = Buffer.from(Buffer.from(body, "base64url").toString().replaceAll("robot", "other")).toString(
    "base64url",
  );
  assert.equal((await http.send("/api", { token: `${head}.${forged}.${signature}` })).status, 401);
  await store.delete(ServiceAccounts, { namespace: "default", name: "robot" });
  assert.equal((await read()).status, 401);
});

test("tokens are for an audience and for a time", async () => {
  const { http } = server;
  const { token, expirationTimestamp } = await issue("default", {
    audiences: ["vault"],
    expirationSeconds: 900,
  });
  assert.equal((await http.send("/api", { token })).status, 401, "not meant for this server");
  const ask = (audiences: string[]) => http.post<TokenReview>(TOKEN_REVIEWS, { spec: { token, audiences } });
  assert.equal((await ask(["vault"])).json.status.authenticated, true);
  assert.equal((await ask(["other"])).json.status.authenticated, false);
  const left = Date.parse(expirationTimestamp) - Date.now();
  assert.ok(left > 880_000 && left <= 901_000);
  const short = await http.post("/api/v1/namespaces/default/serviceaccounts/default/token", {
    spec: { expirationSeconds: 5 },
  });
  assert.equal(short.status, 422);
});
