import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { cannedApi, folderOf, kubeconfigOf } from "../testing/api.ts";
import { mooring, UNPRIVILEGED } from "../testing/command.ts";

test("a $KUBECONFIG that cannot be read ends the command, and asks no other cluster", async (t) => {
  const api = await cannedApi(t);
  const home = await folderOf(t);
  await mkdir(join(home, ".kube"));
  await writeFile(join(home, ".kube", "config"), kubeconfigOf(api.url));
  const closed = join(home, "closed");
  await writeFile(closed, kubeconfigOf(api.url));
  await chmod(closed, 0);
  const missing = join(home, "mistyped");
  for (const [path, expected] of [
    [missing, /\$KUBECONFIG names .*mistyped, which does not exist\nnext: .*unset KUBECONFIG/],
    [closed, /\$KUBECONFIG names .*closed, which you may not read\nnext: .*sudo -E/],
    [`${closed}:${api.kubeconfig}`, /\$KUBECONFIG names .*closed, which you may not read\nnext: .*sudo -E/],
  ] as const) {
    const env = { HOME: home, KUBECONFIG: path };
    const { code, stderr } = await mooring(["group", "delete", "noon"], { env, under: UNPRIVILEGED });
    assert.equal(code, 2, stderr);
    assert.match(stderr, expected);
  }
  const named = ["--kubeconfig", closed];
  const { code, stderr } = await mooring(["group", "list", ...named], { under: UNPRIVILEGED });
  assert.equal(code, 2, stderr);
  assert.match(stderr, /--kubeconfig names .*closed, which you may not read\nnext: .*sudo -E/);
  assert.deepEqual(api.requests, []);
});

test("of several files in $KUBECONFIG the first that is there counts", async (t) => {
  const api = await cannedApi(t);
  const env = { KUBECONFIG: `:${join(await folderOf(t), "missing")}:${api.kubeconfig}` };
  const { code, stderr } = await mooring(["volume", "list"], { env });
  assert.equal(code, 0, stderr);
  assert.notEqual(api.requests.length, 0);
});

test("a server that is not there is reported with its address and the file that names it", async (t) => {
  const kubeconfig = join(await folderOf(t), "nobody");
  await writeFile(kubeconfig, kubeconfigOf("https://127.0.0.1:1"));
  const { code, stderr } = await mooring(["volume", "list", "--kubeconfig", kubeconfig]);
  assert.equal(code, 4, stderr);
  assert.match(stderr, /the API server does not respond/);
  assert.ok(stderr.includes("https://127.0.0.1:1") && stderr.includes(kubeconfig), stderr);
});

test("a connection that is not safe is no server that has to be started", async (t) => {
  const api = await cannedApi(t);
  const kubeconfig = join(await folderOf(t), "config");
  const list = async (text: string, exit: number, expected: RegExp) => {
    await writeFile(kubeconfig, text);
    const { code, stderr } = await mooring(["volume", "list", "--kubeconfig", kubeconfig]);
    assert.equal(code, exit, stderr);
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /does not respond|start it/);
  };
  const plain = api.url.replace("http:", "https:");
  await list(
    kubeconfigOf(plain),
    4,
    /is not safe.*wrong version number[\s\S]*next: the kubeconfig does not fit/,
  );
  const noPem = Buffer.from("nonsense").toString("base64");
  const user = `{client-certificate-data: ${noPem}, client-key-data: ${noPem}}`;
  const broken = kubeconfigOf(plain).replace("user: {}", `user: ${user}`);
  await list(
    broken,
    2,
    /certificates of the kubeconfig cannot be used.*no start line[\s\S]*next: take a fresh/,
  );
});

test("commands work in the namespace of the context, as kubectl does, unless -n names another", async (t) => {
  const api = await cannedApi(t, ", namespace: shop");
  const server = ["--kubeconfig", api.kubeconfig];
  for (const [args, namespace] of [
    [["group", "list"], "shop"],
    [["group", "delete", "noon", "--no-wait"], "shop"],
    [["group", "list", "-n", "bank"], "bank"],
    [["why", "pvc/data"], "shop"],
  ] as const) {
    api.requests.length = 0;
    await mooring([...args, ...server]);
    const [first = ""] = api.requests.filter((line) => line.includes("/namespaces/"));
    assert.match(first, new RegExp(`/namespaces/${namespace}/`), args.join(" "));
  }
});
