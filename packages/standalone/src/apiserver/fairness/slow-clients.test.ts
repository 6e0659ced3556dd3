import assert from "node:assert/strict";
import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import { after, before, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { ConfigMaps, defined } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";
/** More than the buffers of a connection take. */
const LARGE = { count: 1_000, characters: 16_384 };
/** Where it matters that requests end in time. */
const REQUEST_MS = 3_000;
/** Five users may take all seats. */
const USERS = ["u0", "u1", "u2", "u3", "u4"];
let server: TestServer;
/** Where requests end soon. */
let hasty: TestServer;

async function start(requestMs?: number): Promise<TestServer> {
  const options = { thread: false, controllers: false, ...defined({ requestMs }) };
  const started = await startTestServer(options);
  const rbac = { apiGroup: "rbac.authorization.k8s.io" };
  const bound = await started.http.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "slow" },
    subjects: USERS.map((name) => ({ ...rbac, kind: "User", name })),
    roleRef: { ...rbac, kind: "ClusterRole", name: "cluster-admin" },
  });
  assert.equal(bound.status, 201);
  return started;
}

before(async () => {
  [server, hasty] = await Promise.all([start(), start(REQUEST_MS)]);
});
after(() => Promise.all([server.stop(), hasty.stop()]));

/** Makes lists of it long. */
async function fill({ store }: TestServer): Promise<void> {
  for (let at = 0; at < LARGE.count; at += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        store.create(ConfigMaps, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace: "default", name: `large-${at + i}` },
          data: { text: "x".repeat(LARGE.characters) },
        }),
      ),
    );
}

/** A request whose body has begun, and does not go on. */
async function beginBody({ api }: TestServer, user: string, path: string): Promise<ClientRequest> {
  const { url, caPem: ca, token } = api;
  const sent = request(new URL(path, url), {
    ...{ method: "POST", agent: false, ca },
    headers: {
      ...{ authorization: `Bearer ${token}`, "impersonate-user": user },
      ...{ "content-type": "application/json", "content-length": 1_000, expect: "100-continue" },
    },
  });
  sent.on("error", () => {});
  sent.flushHeaders();
  await once(sent, "continue");
  sent.write("{");
  return sent;
}

async function getsThrough({ http }: TestServer, user: string): Promise<void> {
  const response = await http.get("/version", { "impersonate-user": user });
  assert.equal(response.status, 200, response.text);
}

const allGetThrough = (to: TestServer) => Promise.all(USERS.map((user) => getsThrough(to, user)));

test("bodies that do not go on take no seats: neither others' nor those of the same user", async () => {
  const path = `${MAPS}?dryRun=All`;
  const slow = await Promise.all(
    Array.from({ length: 80 }, (_, at) => beginBody(server, `u${at % 2}`, path)),
  );
  let ended = 0;
  for (const sent of slow)
    sent.once("response", () => {
      ended += 1;
    });
  await allGetThrough(server);
  assert.equal(ended, 0, "nobody waited for one of them to end");
  for (const sent of slow) sent.destroy();
});

test("a body that does not end in time ends the request, whatever its query says", thorough(), async () => {
  for (const query of ["", "&watch=true", "&follow=true"]) {
    const sent = await beginBody(hasty, "u0", `${MAPS}?dryRun=All${query}`);
    const [response] = await once(sent, "response");
    assert.equal(response.statusCode, 504, query);
    sent.destroy();
  }
});

/** A list that has begun, and that nobody reads. */
async function beginList({ api }: TestServer, user: string): Promise<IncomingMessage> {
  const { url, caPem: ca, token } = api;
  const headers = { authorization: `Bearer ${token}`, "impersonate-user": user };
  const sent = request(new URL(MAPS, url), { agent: false, ca, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.on("error", () => {});
  return response;
}

test("lists that nobody reads take no seats", thorough(), async () => {
  await fill(server);
  const unread = Array.from({ length: 100 }, (_, at) => beginList(server, `u${at % USERS.length}`));
  const lists = await Promise.all(unread);
  await allGetThrough(server);
  for (const list of lists) list.destroy();
});

test("a list that nobody reads ends in time", thorough(), async () => {
  await fill(hasty);
  let asked = 0;
  const others = async () => {
    const { text } = await hasty.http.get("/metrics");
    const count = Number(/request_total\{method="GET",code="200"\} (\d+)/.exec(text)?.[1] ?? 0);
    return count - asked++;
  };
  const before = await others();
  const list = await beginList(hasty, "u0");
  await eventually("the server has ended it", async () => (await others()) > before);
  list.resume();
  await new Promise((resolve) => list.once("close", resolve));
  assert.equal(list.complete, false);
});

/** Sends requests on one connection, all at once, and reads no response. */
async function pipelined({ api }: TestServer, user: string, paths: string[]): Promise<TLSSocket> {
  const { hostname, port } = new URL(api.url);
  const socket = connect({ host: hostname, port: Number(port), ca: api.caPem, servername: "localhost" });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  const headers = `Host: x\r\nAuthorization: Bearer ${api.token}\r\nImpersonate-User: ${user}\r\n\r\n`;
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n${headers}`).join(""));
  return socket;
}

test("requests behind one another on a connection that is closed keep no seats", thorough(), async () => {
  const paths = [`${MAPS}?watch=true`, ...Array<string>(16).fill(MAPS)];
  const sockets = await Promise.all(USERS.map((user) => pipelined(server, user, paths)));
  for (const socket of sockets) {
    await once(socket, "data");
    socket.destroy();
  }
  await allGetThrough(server);
});
