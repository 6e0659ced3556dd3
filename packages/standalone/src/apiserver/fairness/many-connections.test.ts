import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { acquireLease, Leases, Nodes, RestStore } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { nodeKubeconfig } from "../../node/join/credential.ts";
import { joinCluster } from "../../node/join/join.ts";
import { authorityHash } from "../join/handle.ts";
import { createJoinToken } from "../join/tokens.ts";
import { mustRun, programs, runner } from "../testing/kubectl.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const NAMESPACE = "/api/v1/namespaces/default";
/** As the server has them: of one user what lasts, and all connections; of all users. */
const MOST = { lasting: 200, ofOne: 256, all: 1_024 };
/** Handshakes at a time: those that wait too long are given up by the server. */
const AT_ONCE = 20;
const HOUR_MS = 3_600_000;

let server: TestServer;
before(async () => {
  server = await startTestServer({ thread: true });
  const rbac = { apiGroup: "rbac.authorization.k8s.io" };
  const bound = await server.http.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "accounts" },
    subjects: [{ ...rbac, kind: "Group", name: "system:serviceaccounts" }],
    roleRef: { ...rbac, kind: "ClusterRole", name: "view" },
  });
  assert.equal(bound.status, 201, bound.text);
});
after(() => server.stop());

async function tokenOf(name: string): Promise<string> {
  const account = await server.http.post(`${NAMESPACE}/serviceaccounts`, { metadata: { name } });
  assert.equal(account.status, 201, account.text);
  const issued = await server.http.post(`${NAMESPACE}/serviceaccounts/${name}/token`, { spec: {} });
  assert.equal(issued.status, 201, issued.text);
  return (issued.json as unknown as { status: { token: string } }).status.token;
}

interface Opened {
  response: IncomingMessage;
  close(): void;
}

/**
 * A request on a connection of its own, up to the headers of its response. On a busy machine a handshake may take too long.
 */
async function ask(path: string, token: string, attempts = 5): Promise<Opened> {
  const sent = request(new URL(path, server.api.url), {
    ...{ agent: false, ca: server.api.caPem, headers: { authorization: `Bearer ${token}` } },
  });
  sent.on("error", () => {});
  sent.end();
  const received = await once(sent, "response").catch((error: unknown) => {
    if (attempts === 1) throw error;
    return undefined;
  });
  if (received === undefined) return ask(path, token, attempts - 1);
  const [response] = received as [IncomingMessage];
  response.on("error", () => {});
  response.resume();
  return { response, close: () => sent.destroy() };
}

/** A connection that stays; with a token after one request, else without a word. */
async function idle(token?: string): Promise<TLSSocket> {
  const { hostname: host, port } = new URL(server.api.url);
  const socket = connect({ host, port: Number(port), ca: server.api.caPem });
  socket.on("error", () => {});
  await Promise.race([once(socket, "secureConnect"), once(socket, "close")]);
  if (token === undefined || socket.destroyed) return socket.resume();
  socket.write(`GET /version HTTP/1.1\r\nhost: mooring\r\nauthorization: Bearer ${token}\r\n\r\n`);
  await Promise.race([once(socket, "data"), once(socket, "close")]);
  socket.resume();
  return socket;
}

/** So many, some at a time. */
async function many<T>(count: number, open: () => Promise<T>): Promise<T[]> {
  const opened: T[] = [];
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) opened.push(await open());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return opened;
}

const isOpen = (socket: TLSSocket) => !socket.destroyed && !socket.readableEnded;

/** A machine that has joined, and what it asks the server with. */
async function joinedNode(nodeName: string): Promise<RestStore> {
  const { url, caPem } = server.api;
  const authority = authorityHash(caPem);
  const token = await createJoinToken(server.store, { authority, expires: new Date(Date.now() + HOUR_MS) });
  const stateDir = join(server.folder, nodeName);
  await joinCluster({ server: url, nodeName }, token, stateDir);
  return RestStore.fromKubeconfig(nodeKubeconfig(stateDir));
}

test(
  "thousands of connections and watches of service accounts, and of nobody, keep neither nodes nor the administrator out",
  thorough(),
  async (t) => {
    const token = await tokenOf("greedy");
    const other = await tokenOf("modest");
    const node = await joinedNode("n1");
    const kubectl = mustRun(
      runner((await programs()).kubectl, { ...server, kubeconfig: server.api.kubeconfig }),
    );
    const stop = new AbortController();
    const renewal = { namespace: "kube-node-lease", name: "n1" };
    const lease = await acquireLease(node, { ...renewal, identity: "n1", retryMs: 50 }, stop.signal);
    const open: { close(): void }[] = [];
    t.after(async () => {
      for (const each of open) each.close();
      await lease.release();
      stop.abort();
      node.close?.();
    });
    const renewTime = async () => (await server.store.get(Leases, renewal)).spec?.renewTime;
    const systemWorks = async (): Promise<void> => {
      const before = await renewTime();
      await eventually("the node renews its lease", async () => (await renewTime()) !== before);
      assert.equal((await node.get(Nodes, { name: "n1" })).metadata.name, "n1");
      assert.match(await kubectl(["get", "namespaces", "-o", "name"]), /namespace\/default/);
    };

    const watches = await many(MOST.lasting + 100, () => ask(`${NAMESPACE}/configmaps?watch=true`, token));
    open.push(...watches);
    const refused = watches.filter(({ response }) => response.statusCode !== 200);
    assert.equal(refused.length, 100);
    for (const { response } of refused) {
      assert.equal(response.statusCode, 429);
      assert.equal(response.headers["retry-after"], "1");
    }
    const own = await ask(`${NAMESPACE}/configmaps?watch=true`, other);
    open.push(own);
    assert.equal(own.response.statusCode, 200, "a user who has few watches gets one");
    await systemWorks();

    const keep = (sockets: TLSSocket[]): TLSSocket[] => {
      open.push(...sockets.map((socket) => ({ close: () => socket.destroy() })));
      return sockets;
    };
    const openOf = (sockets: readonly TLSSocket[]) => sockets.filter(isOpen).length;
    const idlers = keep(await many(400, () => idle(token)));
    // Its watches are among those that it may have.
    await eventually("the user's connections are bounded", () => openOf(idlers) <= MOST.ofOne - MOST.lasting);
    assert.ok(openOf(idlers) > 0, "the newest ones stay");
    await systemWorks();

    const others: TLSSocket[] = [];
    for (let account = 0; account < 6; account += 1) {
      const another = await tokenOf(`another-${account}`);
      others.push(...keep(await many(220, () => idle(another))));
    }
    await eventually("all connections are bounded", () => openOf(others) + MOST.lasting <= MOST.all);
    keep(await many(300, () => idle()));
    await systemWorks();
    assert.ok(isStillOpen(own.response), "who has few loses none to those who have many");
  },
);

const isStillOpen = ({ complete, destroyed }: IncomingMessage) => !complete && !destroyed;
