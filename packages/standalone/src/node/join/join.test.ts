import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { after, before, test } from "node:test";
import {
  isForbidden,
  isNotFound,
  kubeconfigAccess,
  Leases,
  Nodes,
  Pods,
  RestStore,
  Secrets,
  silentLogger,
} from "@mooring/store";
import { startTestServer, type TestServer } from "../../apiserver/testing/test-server.ts";
import { requestNode } from "../../pki/issue.ts";
import { certificateOf, nodeKubeconfig } from "./credential.ts";
import { joinCluster } from "./join.ts";
import { renewIfDue } from "./rotate.ts";
import { joinedNode, joinToken, stateFolder } from "./testing/joined.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const HOUR_MS = 3600_000;
const folder = stateFolder;
const token = (options?: { expires?: Date; nodeName?: string }) => joinToken(server, options);
const joined = (nodeName: string) => joinedNode(server, nodeName);

const pod = (name: string, nodeName: string, secretName: string) => ({
  apiVersion: "v1" as const,
  kind: "Pod" as const,
  metadata: { name, namespace: "default" },
  spec: {
    nodeName,
    containers: [{ name: "c", image: "host" }],
    volumes: [{ name: "s", secret: { secretName } }],
  },
});

test("a token lets one machine in, once, under its own name", async () => {
  const once = await token();
  const stateDir = await folder();
  await joinCluster({ server: server.api.url, nodeName: "first" }, once, stateDir);
  const store = await RestStore.fromKubeconfig(nodeKubeconfig(stateDir));
  assert.equal((await store.get(Nodes, { name: "first" })).metadata.name, "first");
  const again = joinCluster({ server: server.api.url, nodeName: "other" }, once, await folder());
  await assert.rejects(again, /join token is not valid/);
  store.close();
});

test("a token that is old, for another node, or for a node that is there, lets nobody in", async () => {
  const at = (nodeName: string, given: string) =>
    folder().then((dir) => joinCluster({ server: server.api.url, nodeName }, given, dir));
  await assert.rejects(at("late", await token({ expires: new Date(Date.now() - 1) })), /not valid/);
  await assert.rejects(at("b", await token({ nodeName: "a" })), /not valid/);
  await joined("taken");
  await assert.rejects(at("taken", await token()), /is there already/);
  const authority = "0".repeat(64);
  const elsewhere = (await token()).replace(/[0-9a-f]{64}$/, authority);
  await assert.rejects(at("c", elsewhere), /is not the server that the token is from/);
});

test("a node reads the secrets of its pods and writes its own objects, and nothing else", async () => {
  const { store } = await joined("mine");
  const secret = (name: string) => ({
    apiVersion: "v1" as const,
    kind: "Secret" as const,
    metadata: { name, namespace: "default" },
  });
  for (const name of ["here", "there", "nobody"]) await server.store.create(Secrets, secret(name));
  await server.store.create(Pods, pod("a", "mine", "here"));
  await server.store.create(Pods, pod("b", "elsewhere", "there"));
  const refused = (work: Promise<unknown>, what: string) =>
    assert.rejects(work, (error: unknown) => isForbidden(error), what);

  assert.equal((await store.get(Secrets, { namespace: "default", name: "here" })).metadata.name, "here");
  for (const name of ["there", "nobody"])
    await refused(store.get(Secrets, { namespace: "default", name }), `the secret ${name}`);
  await refused(store.list(Secrets, { namespace: "default" }), "all secrets");
  await refused(store.list(Pods), "all pods");
  for (const other of ["metadata.name!=x\\,spec.nodeName=mine", "spec.nodeName!=x\\,spec.nodeName=mine"])
    await refused(store.list(Pods, { fieldSelector: other }), other);
  const named = { namespace: "default", fieldSelector: "metadata.name!=x\\,metadata.name=here" };
  await refused(store.list(Secrets, named), "secrets beside its pod's");
  const own = await store.list(Pods, { fieldSelector: "spec.nodeName=mine" });
  assert.deepEqual(
    own.items.map(({ metadata }) => metadata.name),
    ["a"],
  );
  await refused(store.delete(Pods, { namespace: "default", name: "b" }), "a pod of another node");

  const node = await store.get(Nodes, { name: "mine" });
  await store.update(Nodes, { ...node, metadata: { ...node.metadata, labels: { zone: "a" } } });
  const other = { apiVersion: "v1" as const, kind: "Node" as const, metadata: { name: "fake" } };
  await refused(store.create(Nodes, other), "another node");
  const annotations = { "storage.mooring.dev/identity": "0".repeat(64) };
  const current = await store.get(Nodes, { name: "mine" });
  await refused(
    store.update(Nodes, { ...current, metadata: { ...current.metadata, annotations } }),
    "its key",
  );
  const tainted = { ...current, spec: { ...current.spec, taints: [] } };
  await store.update(Nodes, tainted);
  const lease = (namespace: string, name: string) => ({
    apiVersion: "coordination.k8s.io/v1" as const,
    kind: "Lease" as const,
    metadata: { namespace, name },
    spec: { holderIdentity: "mine" },
  });
  await store.create(Leases, lease("kube-node-lease", "mine"));
  await refused(store.create(Leases, lease("kube-node-lease", "fake")), "the lease of another");
  await refused(store.create(Leases, lease("kube-system", "leader")), "the lease of a controller");
  store.close();
});

/** A client whose watch is ended sees that it is nobody any more, at the latest when it watches anew. */
async function untilEnded(watch: AsyncGenerator<unknown>): Promise<void> {
  for (let last: { done?: boolean } = {}; last.done !== true; )
    last = await watch.next().catch((error: unknown) => {
      assert.match(String(error), /Unauthorized/);
      return { done: true };
    });
}

test("who deletes the node has revoked it, and ended its watches", async () => {
  const { store } = await joined("gone");
  await store.list(Nodes);
  const over = new AbortController();
  const watch = store.watch(Nodes, { signal: over.signal });
  await watch.next();
  await server.store.delete(Nodes, { name: "gone" });
  await untilEnded(watch);
  over.abort();
  await assert.rejects(store.list(Nodes), /Unauthorized/);
  const node = { apiVersion: "v1" as const, kind: "Node" as const, metadata: { name: "gone" } };
  await assert.rejects(store.create(Nodes, node), /Unauthorized/);
  // Another machine of that name has another key.
  const next = await joined("gone");
  await next.store.list(Nodes);
  await assert.rejects(store.list(Nodes), /Unauthorized/);
  store.close();
  next.store.close();
});

test("a node that is being deleted is revoked, whoever still holds its object back", async () => {
  const { store } = await joined("holding");
  const held = await store.get(Nodes, { name: "holding" });
  const metadata = { ...held.metadata, finalizers: ["example.com/hold"] };
  await assert.rejects(store.update(Nodes, { ...held, metadata }), /not allowed to change its finalizers/);
  await server.store.update(Nodes, { ...held, metadata });
  const over = new AbortController();
  const watch = store.watch(Nodes, { signal: over.signal });
  await watch.next();
  await server.store.delete(Nodes, { name: "holding" });
  await assert.rejects(store.list(Nodes), /Unauthorized/);
  await untilEnded(watch);
  over.abort();
  store.close();
});

test("a node that is deleted while it asks for its next certificate gets none, and is not back", async () => {
  const { stateDir, store } = await joined("halfway");
  const { tls } = await kubeconfigAccess(nodeKubeconfig(stateDir));
  const { csr } = await requestNode("halfway");
  const body = JSON.stringify({ nodeName: "halfway", csr });
  const sent = request(`${server.api.url}/join`, {
    ...{ method: "POST", agent: false, ...tls },
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      // The server says by it that it has the headers, and with them the certificate.
      expect: "100-continue",
    },
  });
  const response = once(sent, "response");
  sent.flushHeaders();
  await once(sent, "continue");
  sent.write(body.slice(0, 20));
  await server.store.delete(Nodes, { name: "halfway" });
  sent.end(body.slice(20));
  const [{ statusCode }] = (await response) as [IncomingMessage];
  sent.destroy();
  assert.equal(statusCode, 401);
  await assert.rejects(server.store.get(Nodes, { name: "halfway" }), isNotFound);
  store.close();
});

test("whoever has no good token does not learn which nodes there are, nor gets anything signed", async () => {
  const { store } = await joined("hidden");
  const ask = async (nodeName: string, csr: string) =>
    server.http.send("/join", {
      method: "POST",
      headers: { authorization: `Bearer ${"0".repeat(10)}.${"x".repeat(32)}` },
      body: { nodeName, csr },
    });
  const { csr } = await requestNode("hidden");
  for (const [nodeName, given] of [
    ["hidden", csr],
    ["unheard-of", csr],
    ["hidden", "none"],
  ] as const) {
    const { status, json } = await ask(nodeName, given);
    assert.equal(status, 401, `${nodeName}: ${json.message}`);
  }
  store.close();
});

test("whoever asks to join sends no more than a request to join needs", async () => {
  const body = { nodeName: "large", csr: "x".repeat(100_000) };
  const { status, json } = await server.http.send("/join", { method: "POST", token: null, body });
  assert.equal(status, 413);
  assert.match(json.message, /limit is 65536/);
});

test("a token that did not get its bearer in is not used up", async () => {
  const { store } = await joined("namesake");
  const given = await token();
  const at = async (nodeName: string) =>
    joinCluster({ server: server.api.url, nodeName }, given, await folder());
  await assert.rejects(at("namesake"), /is there already/);
  await at("another-name");
  store.close();
});

test("a machine whose taints are wrong does not use its token up; tokens that are too old go when one is made", async () => {
  const old = await token({ expires: new Date(Date.now() - 1) });
  const good = await token();
  const secrets = (await server.store.list(Secrets, { namespace: "kube-system" })).items.map(
    ({ metadata }) => metadata.name,
  );
  const isKept = (text: string) => secrets.includes(`mooring-join-${text.split(".")[0]}`);
  assert.deepEqual([isKept(old), isKept(good)], [false, true]);
  const join = async (effect: string) =>
    joinCluster(
      { server: server.api.url, nodeName: "tainted", taints: [{ key: "disks", effect }] },
      good,
      await folder(),
    );
  await assert.rejects(join("Sometimes"), /effect/);
  await join("NoSchedule");
});

test("a node renews its certificate before it ends, and the old one is worth nothing then", async () => {
  const { stateDir, store } = await joined("lasting");
  const old = await RestStore.fromKubeconfig(nodeKubeconfig(stateDir));
  const options = { store, stateDir, logger: silentLogger, signal: server.signal };
  assert.equal(await renewIfDue(options), false);
  const before = await certificateOf(nodeKubeconfig(stateDir));
  const clock = () => Date.now() + 11 * 24 * HOUR_MS;
  assert.equal(await renewIfDue({ ...options, clock }), true);
  const after = await certificateOf(nodeKubeconfig(stateDir));
  assert.ok((after?.until.getTime() ?? 0) >= (before?.until.getTime() ?? 0));
  await store.list(Nodes);
  await assert.rejects(old.list(Nodes), /Unauthorized/);
  store.close();
  old.close();
});
