import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
