import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createPlainServer } from "node:net";
import { test } from "node:test";
import { runProbe } from "./probe.ts";

/** More than what is under way in between: the server ends when so much was taken. */
const MOST = 256 * 1024 * 1024;

test("a response to a probe that never ends is not read to the probe's time limit", async (t) => {
  let sent = 0;
  const server = createServer((_, response) => {
    const piece = "x".repeat(64 * 1024);
    const more = () => {
      while (!response.destroyed && sent < MOST) {
        sent += piece.length;
        if (!response.write(piece)) return;
      }
      response.destroy();
    };
    response.on("drain", more);
    response.on("error", () => {});
    more();
  });
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ended = new Promise((resolve) => {
    server.once("connection", (socket) => socket.once("close", resolve));
  });
  const { port } = server.address() as AddressInfo;
  const exec = () => assert.fail("it runs nothing");
  const probe = { httpGet: { port }, timeoutSeconds: 3600 };
  assert.equal(await runProbe(probe, { host: "127.0.0.1", ports: [], exec }), undefined);
  await ended;
  assert.ok(sent < MOST, `${sent} bytes were read`);
});

test("a probe does not wait behind responses before the response", async (t) => {
  const server = createPlainServer((socket) => {
    const piece = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100);
    const more = () => {
      while (!socket.destroyed) if (!socket.write(piece)) return;
    };
    socket.on("drain", more);
    socket.on("error", () => {});
    more();
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const exec = () => assert.fail("it runs nothing");
  const target = { host: "127.0.0.1", ports: [], exec };
  assert.equal(
    await runProbe({ httpGet: { port }, timeoutSeconds: 3600 }, target),
    "too many 1xx informational responses",
  );
});

test("headers of a probe are sent as they are given, also one that is given twice", async (t) => {
  const server = createServer(({ rawHeaders }, response) => {
    seen = rawHeaders;
    response.end();
  });
  let seen: string[] = [];
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const httpHeaders = [
    { name: "X-A", value: "1" },
    { name: "Host", value: "example.com" },
    { name: "x-a", value: "2" },
  ];
  const exec = () => assert.fail("it runs nothing");
  assert.equal(
    await runProbe({ httpGet: { port, httpHeaders } }, { host: "127.0.0.1", ports: [], exec }),
    undefined,
  );
  const valuesOf = (name: string) =>
    seen.filter((_, at) => at % 2 === 1 && seen[at - 1]?.toLowerCase() === name);
  assert.deepEqual(valuesOf("x-a"), ["1", "2"]);
  assert.deepEqual(valuesOf("host"), ["example.com"]);
  assert.deepEqual(valuesOf("user-agent"), ["kube-probe/mooring"]);
});
