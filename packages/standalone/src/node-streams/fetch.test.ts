import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { StatusError } from "@mooring/store";
import { issueAuthority, issueServer } from "../pki/issue.ts";
import { fetchNodeLog } from "./fetch.ts";

const asked = { namespace: "default", pod: "web", container: "main" };

/** What reading a log throws when the node responds so. */
async function refusal(t: TestContext, respond: RequestListener): Promise<StatusError> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-fetch-"));
  const socketPath = join(folder, "node.sock");
  const server = createServer(respond).listen(socketPath);
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  const { signal } = new AbortController();
  try {
    for await (const _chunk of fetchNodeLog({ socketPath }, asked, signal));
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error;
  }
  throw new Error("the log was read");
}

test("a node's refusal is passed on where it is a Status, with a code that is one", async (t) => {
  const status = { kind: "Status", reason: "NotFound", message: "no such container" };
  for (const code of [404, undefined, "404", 0]) {
    const {
      reason,
      message,
      code: taken,
    } = await refusal(t, (_request, response) =>
      response.writeHead(404).end(JSON.stringify({ ...status, code })),
    );
    assert.deepEqual([reason, message, taken], ["NotFound", "no such container", 404], String(code));
  }
});

test("any other response of a node is an internal error that names its code", async (t) => {
  for (const body of ["{}", '{"message":"x"}', "null", "7", "[]", "gone", ""]) {
    const { reason, message, code } = await refusal(t, (_request, response) => {
      response.writeHead(502).end(body);
    });
    assert.deepEqual([reason, code], ["InternalError", 500], body);
    assert.match(message, /the node responded with 502/);
  }
});

test("a refusal without end is not read to its end", async (t) => {
  const { reason } = await refusal(t, (_request, response) => {
    response.writeHead(500);
    const more = (): void => {
      while (response.write(Buffer.alloc(16 * 1024, " ")));
      response.once("drain", more);
    };
    more();
  });
  assert.equal(reason, "InternalError");
});

test("a node whose connection is reset in the middle of a log ends the log, and nothing else", async (t) => {
  const authority = await issueAuthority(new Date());
  const pair = await issueServer(authority, ["127.0.0.1"], new Date());
  const node = createTlsServer({ ...pair }, (_request, response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("begun");
  });
  // What a machine sends for connections that it knows no more, such as after its restart.
  let reset = () => {};
  const network = createSocketServer((socket) => {
    const onwards = connect((node.address() as AddressInfo).port, "127.0.0.1");
    for (const each of [socket, onwards]) each.on("error", () => {});
    socket.pipe(onwards).pipe(socket);
    reset = () => {
      socket.resetAndDestroy();
      onwards.destroy();
    };
  });
  for (const server of [node, network]) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
  }
  const { port } = network.address() as AddressInfo;
  const access = { host: "127.0.0.1", port, ca: authority.cert, token: "t" };
  const read = async () => {
    for await (const chunk of fetchNodeLog(access, asked, new AbortController().signal)) {
      assert.equal(Buffer.from(chunk).toString(), "begun");
      setImmediate(reset);
    }
  };
  await assert.rejects(read(), /aborted|ECONNRESET/);
});
