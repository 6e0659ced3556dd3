import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { issueAuthority, issueServer } from "../../pki/issue.ts";
import { JoinError, renewCredential } from "./join.ts";
import { stateFolder } from "./testing/joined.ts";

test("a server that falls silent in its response is an error of the renewal, and ends no process", async (t) => {
  const now = new Date();
  const authority = await issueAuthority(now);
  const pair = await issueServer(authority, ["127.0.0.1"], now);
  const server = createServer(pair, (_request, response) => {
    response.writeHead(200);
    response.write("{");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const current = { ca: authority.cert, certificate: pair.cert, key: pair.key };
  const renewal = renewCredential(
    { server: url, nodeName: "a", silentMs: 200 },
    current,
    await stateFolder(),
  );
  await assert.rejects(renewal, JoinError);
});
