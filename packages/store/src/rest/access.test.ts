import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AccessError } from "./access.ts";
import { inClusterAccess, isInCluster } from "./in-cluster.ts";
import { defaultKubeconfigPath, kubeconfigAccess } from "./kubeconfig.ts";

async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-access-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

test("a pod's service account is enough", async (t) => {
  const folder = await folderWith(t, { "ca.crt": "CA", token: "secret\n", namespace: "storage\n" });
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const access = await inClusterAccess(env, folder);
  assert.equal(access.server, "https://[fd00::1]:443");
  assert.deepEqual([access.tls.ca, access.namespace], ["CA", "storage"]);
  assert.equal(await access.authorization?.(false), "Bearer secret");
  assert.deepEqual([isInCluster(env), isInCluster({})], [true, false]);
  await assert.rejects(inClusterAccess({}, folder), /does not run in a pod/);
  await assert.rejects(
    inClusterAccess(env, join(folder, "none")),
    (error) => error instanceof AccessError && /automountServiceAccountToken/.test(error.message),
  );
});

test("a kubeconfig gives certificates as data or as files beside it, and names its context", async (t) => {
  const data = (text: string) => Buffer.from(text).toString("base64");
  const folder = await folderWith(t, {
    "client.key": "KEY",
    config: `
current-context: first
contexts:
- {name: first, context: {cluster: c, user: certificate}}
- {name: second, context: {cluster: lax, user: password, namespace: ns}}
- {name: empty, context: {cluster: c, user: certificate, namespace: ""}}
clusters:
- {name: c, cluster: {server: https://one:6443/, certificate-authority-data: ${data("CA")}, tls-server-name: kube}}
- {name: lax, cluster: {server: https://two, insecure-skip-tls-verify: true, disable-compression: true}}
users:
- {name: certificate, user: {client-certificate-data: ${data("CERT")}, client-key: client.key}}
- {name: password, user: {username: a, password: b}}
`,
  });
  const first = await kubeconfigAccess(join(folder, "config"));
  assert.equal(first.server, "https://one:6443");
  assert.deepEqual(first.tls, { ca: "CA", cert: "CERT", key: "KEY", servername: "kube" });
  assert.deepEqual([first.namespace, first.authorization], ["default", undefined]);
  const second = await kubeconfigAccess(join(folder, "config"), "second");
  assert.deepEqual([second.namespace, second.tls], ["ns", { rejectUnauthorized: false }]);
  assert.equal(await second.authorization?.(false), `Basic ${data("a:b")}`);
  assert.equal((await kubeconfigAccess(join(folder, "config"), "empty")).namespace, "default");
  await assert.rejects(kubeconfigAccess(join(folder, "config"), "third"), /no context "third"/);
});

test("a kubeconfig that does not fit is reported with its path and the place", async (t) => {
  const folder = await folderWith(t, {});
  const path = join(folder, "config");
  const whole = {
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://one" } }],
    users: [{ name: "u", user: {} }],
  };
  for (const [part, message] of [
    [{ contexts: {} }, /contexts is not a list/],
    [{ contexts: "c" }, /contexts is not a list/],
    [{ contexts: null }, /has no context ""/],
    [{ clusters: [null] }, /clusters\[0\] has no name/],
    [{ clusters: [{ name: "c", cluster: "https://one" }] }, /cluster "c" is not a map/],
    [{ clusters: [{ name: "c", cluster: null }] }, /cluster "c" has no server/],
    [{ clusters: [{ name: "c", cluster: { server: 6443 } }] }, /cluster "c": server is not a text/],
    [{ clusters: [{ name: "c", cluster: { server: "one:6443" } }] }, /server one:6443 is not an address/],
    [{ users: [{ name: "u", user: { token: 1234 } }] }, /user "u": token is not a text/],
    [{ users: [{ name: "u", user: { "client-key": "none" } }] }, /names a file that cannot be read/],
    [{ "current-context": ["c"] }, /has no context ""/],
  ] as const) {
    await writeFile(path, JSON.stringify({ ...whole, ...part }));
    await assert.rejects(kubeconfigAccess(path), (error: Error) => {
      assert.equal(error.name, "AccessError", error.stack);
      assert.match(error.message, message);
      return error.message.includes(path);
    });
  }
  await writeFile(path, "[]");
  await assert.rejects(kubeconfigAccess(path), /config is not a kubeconfig/);
  await assert.rejects(kubeconfigAccess(folder), { name: "AccessError", message: new RegExp(folder) });
});

test("$KUBECONFIG names the file, else it is in the home folder", () => {
  assert.equal(defaultKubeconfigPath({ KUBECONFIG: ":/a/config:/b/config" }), "/a/config");
  assert.match(defaultKubeconfigPath({}), /\.kube\/config$/);
});
