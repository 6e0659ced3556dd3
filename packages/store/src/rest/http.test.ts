import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { isStatus } from "../object/status-error.ts";
import { eventually } from "../runtime/eventually.ts";
import { HttpClient, type HttpOptions } from "./http.ts";

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const WHOLE = `${HEAD}content-length: 2\r\n\r\n{}`;

/** A server whose every connection is the test's, and a client of it. */
async function setUp(t: TestContext, serve: (socket: Socket, nth: number) => void, options?: HttpOptions) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket, sockets.push(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const access = { server: `http://127.0.0.1:${port}`, tls: {}, namespace: "default" };
  const client = new HttpClient(access, options);
  t.after(() => {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { client, sockets, access };
}

const get = (signal?: AbortSignal) => ({ method: "GET", path: "/x", signal }) as const;

const unavailable = (pattern: RegExp) => (error: unknown) => {
  assert.ok(isStatus(error, "ServiceUnavailable"), String(error));
  assert.match(error.message, pattern);
  return true;
};

test("a body that stops in its middle is given up after the time-out", async (t) => {
  const { client } = await setUp(t, (socket) => socket.write(`${HEAD}content-length: 9\r\n\r\n{`), {
    timeoutMs: 200,
  });
  await assert.rejects(client.text(get()), unavailable(/the response stopped for 200 ms/));
});

test("a body that ends before its length is no response", async (t) => {
  const { client } = await setUp(t, (socket) => socket.end(`${HEAD}content-length: 9\r\n\r\n{`));
  await assert.rejects(client.text(get()), unavailable(/cannot talk to the API server/));
});

test("what is no HTTP is no response", async (t) => {
  const { client } = await setUp(t, (socket) => socket.end("SSH-2.0-server\r\n"));
  await assert.rejects(client.text(get()), unavailable(/cannot talk to the API server/));
});

test("an abort ends a request whose connection is not made yet", async (t) => {
  const { access, sockets } = await setUp(t, () => {});
  // Nobody speaks TLS there: the handshake never ends.
  const client = new HttpClient({ ...access, server: access.server.replace("http:", "https:") });
  t.after(() => client.close());
  const stop = new AbortController();
  const reason = new Error("enough");
  const asking = client.text(get(stop.signal));
  const refused = assert.rejects(asking, reason);
  await eventually("a connection", () => sockets.length === 1);
  stop.abort(reason);
  await refused;
});

test("a read whose connection the server closes before it responds is made again, a write is not", async (t) => {
  let closes = 1;
  let asked = 0;
  const { client } = await setUp(t, (socket) => {
    socket.on("data", () => {
      asked++;
      if (closes-- > 0) socket.destroy();
      else socket.write(WHOLE);
    });
  });
  assert.equal(await client.text(get()), "{}");
  closes = 1;
  await assert.rejects(client.text({ method: "POST", path: "/x", body: {} }), unavailable(/API server/));
  assert.equal(asked, 3);
});

test("a stream is what has arrived, and its end takes the connection with it when nobody reads on", async (t) => {
  const { client, sockets } = await setUp(t, (socket) => {
    socket.on("data", () => socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n3\r\none\r\n`));
  });
  const stream = await client.open(get());
  const [chunk] = (await once(stream, "data")) as [Buffer];
  assert.equal(chunk.toString(), "one");
  stream.destroy();
  const [socket] = sockets;
  assert.ok(socket !== undefined);
  if (!socket.destroyed) await once(socket, "close");
});

test("an aborted stream ends with an error", async (t) => {
  const { client } = await setUp(t, (socket) => {
    socket.on("data", () => socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n3\r\none\r\n`));
  });
  const stop = new AbortController();
  const stream = await client.open(get(stop.signal));
  stop.abort(new Error("enough"));
  await assert.rejects(stream.toArray(), /aborted/);
});

test("a response that the server announces with an interim one is the final one", async (t) => {
  const { client } = await setUp(t, (socket) => {
    socket.on("data", () => socket.write(`HTTP/1.1 103 Early Hints\r\n\r\n${WHOLE}`));
  });
  assert.equal(await client.text(get()), "{}");
});

test("many requests at once share 32 connections, and neither a lease nor a watch waits for one of these", async (t) => {
  const asked: { path: string; respond(): void }[] = [];
  const { client, sockets } = await setUp(t, (socket) => {
    socket.on("data", (chunk) => {
      const [, path = ""] = /^\w+ (\S+)/.exec(String(chunk)) ?? [];
      asked.push({ path, respond: () => socket.write(WHOLE) });
    });
  });
  const requests = Array.from({ length: 100 }, () => client.text(get()));
  await eventually("32 of them to be there", () => asked.length === 32);
  const lease = client.text({ method: "PUT", path: "/apis/coordination.k8s.io/v1/leases/leader", body: {} });
  const watch = client.open({ method: "GET", path: "/api/v1/pods?watch=true" });
  await eventually("both others as well", () => asked.length === 34);
  assert.deepEqual(
    asked.slice(32).map(({ path }) => path.split("?")[0]),
    ["/apis/coordination.k8s.io/v1/leases/leader", "/api/v1/pods"],
  );
  assert.equal(sockets.length, 34);
  while (asked.length > 0 || !(await settled(requests))) asked.shift()?.respond();
  await Promise.all([...requests, lease]);
  (await watch).destroy();
  assert.equal(sockets.length, 34);
});

/** Whether all have ended by the next turn. */
async function settled(promises: readonly Promise<unknown>[]): Promise<boolean> {
  const open = Symbol();
  const first = await Promise.race([Promise.all(promises), new Promise((next) => setImmediate(next, open))]);
  return first !== open;
}
