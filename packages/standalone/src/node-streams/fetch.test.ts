import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { StatusError } from "@mooring/store";
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
