import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";
import { defined, Pods, Secrets, ServiceAccounts } from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import type { KubeletStreams } from "../api.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const NAMESPACE = "/api/v1/namespaces/default";
/** A kubelet whose programs run until they are killed, and whose logs never end. */
const kubelet: KubeletStreams = {
  async exec() {
    const stdout = new PassThrough();
    const exit = new Promise<number>((resolve) => stdout.once("close", () => resolve(137)));
    return { stdout, exit, resize: () => {}, kill: async () => void stdout.destroy() };
  },
  async *logs({ signal }) {
    yield "one line\n";
    await once(signal, "abort");
  },
  forward: () => Promise.reject(new Error("nobody listens")),
  elsewhere: async () => undefined,
};

let server: TestServer;
before(async () => {
  server = await startTestServer({ controllers: false, kubelet });
  const rbac = { apiGroup: "rbac.authorization.k8s.io" };
  const bound = await server.http.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "accounts" },
    subjects: [{ ...rbac, kind: "Group", name: "system:serviceaccounts" }],
    roleRef: { ...rbac, kind: "ClusterRole", name: "cluster-admin" },
  });
  assert.equal(bound.status, 201);
  const spec = { nodeName: "here", containers: [{ name: "c", image: "host" }] };
  const target = await server.http.post(`${NAMESPACE}/pods`, { metadata: { name: "target" }, spec });
  assert.equal(target.status, 201, target.text);
});
after(() => server.stop());

/** A service account of its own, and a token of it that is bound to that object. */
async function tokenOf(name: string, boundObjectRef?: object): Promise<string> {
  const account = await server.http.post(`${NAMESPACE}/serviceaccounts`, { metadata: { name } });
  assert.equal(account.status, 201, account.text);
  const spec = defined({ boundObjectRef });
  const issued = await server.http.post(`${NAMESPACE}/serviceaccounts/${name}/token`, { spec });
  assert.equal(issued.status, 201, issued.text);
  return (issued.json as unknown as { status: { token: string } }).status.token;
}

/** What lasts is there, and ends by itself. */
async function begun(response: IncomingMessage): Promise<{ ended: Promise<unknown> }> {
  assert.equal(response.statusCode, 200);
  response.on("error", () => {});
  const ended = new Promise((resolve) => response.once("close", resolve));
  response.resume();
  return { ended };
}

async function exec(token: string): Promise<{ ended: Promise<unknown> }> {
  const sent = request(new URL(`${NAMESPACE}/pods/target/exec?command=sh&stdout=1`, server.api.url), {
    ...{ agent: false, ca: server.api.caPem },
    headers: {
      ...{ authorization: `Bearer ${token}`, connection: "Upgrade", upgrade: "websocket" },
      ...{ "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13" },
      "sec-websocket-protocol": "v5.channel.k8s.io",
    },
  });
  sent.end();
  const [, socket] = await once(sent, "upgrade");
  socket.on("error", () => {});
  const ended = new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
  socket.resume();
  return { ended };
}

test("watches, logs and programs of a service account end when it is deleted, and nobody else's", async () => {
  const gone = await tokenOf("gone");
  const stays = await tokenOf("stays");
  const watch = `${NAMESPACE}/configmaps?watch=1`;
  const log = `${NAMESPACE}/pods/target/log?follow=1`;
  const lasting = [
    await begun(await server.http.open(watch, { token: gone })),
    await begun(await server.http.open(log, { token: gone })),
    await exec(gone),
  ];
  const other = await begun(await server.http.open(watch, { token: stays }));
  await server.store.delete(ServiceAccounts, { namespace: "default", name: "gone" });
  await Promise.all(lasting.map(({ ended }) => ended));
  const isOver = await Promise.race([other.ended.then(() => true), exec(stays).then(() => false)]);
  assert.equal(isOver, false);
  await server.store.delete(ServiceAccounts, { namespace: "default", name: "stays" });
  await other.ended;
});

test("a token's watches end with the object that it is bound to", thorough(), async () => {
  const metadata = (name: string) => ({ namespace: "default", name });
  await server.store.create(Secrets, { apiVersion: "v1", kind: "Secret", metadata: metadata("bound") });
  await server.store.create(Pods, {
    ...{ apiVersion: "v1", kind: "Pod", metadata: metadata("bound") },
    spec: { nodeName: "here", serviceAccountName: "of-pod", containers: [{ name: "c", image: "host" }] },
  });
  for (const [resource, ref] of [
    [Secrets, { apiVersion: "v1", kind: "Secret", name: "bound" }],
    [Pods, { apiVersion: "v1", kind: "Pod", name: "bound" }],
  ] as const) {
    const token = await tokenOf(`of-${ref.kind.toLowerCase()}`, ref);
    const watch = await begun(await server.http.open(`${NAMESPACE}/configmaps?watch=1`, { token }));
    await server.store.delete(resource, { namespace: "default", name: "bound" }, { gracePeriodSeconds: 0 });
    await watch.ended;
  }
});
