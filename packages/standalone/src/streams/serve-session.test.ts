import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { WebSocket, WebSocketServer } from "ws";
import type { ExecSession } from "../runtime/index.ts";
import { Channel, overWebSocket } from "./channels.ts";
import { serveSession } from "./serve-session.ts";

const PIECE = Buffer.concat([Buffer.of(Channel.stdin), Buffer.alloc(64 * 1024, "x")]);

interface Served {
  client: WebSocket;
  /** The server's side of it. */
  ws: WebSocket;
  done: Promise<void>;
}

async function serve(t: TestContext, open: () => Promise<ExecSession>): Promise<Served> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const stop = new AbortController();
  t.after(() => {
    stop.abort();
    server.close();
  });
  await once(server, "listening");
  const connected = once(server, "connection") as Promise<[WebSocket]>;
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on("error", () => {});
  const [ws] = await connected;
  await once(client, "open");
  const done = serveSession(overWebSocket(ws), { open, stdout: true, stderr: true, stop: stop.signal });
  return { client, ws, done };
}

/** A program that runs until it is killed, and does with its input what the test does. */
function program(stdin: PassThrough): ExecSession {
  let end: (code: number) => void = () => {};
  const exit = new Promise<number>((resolve) => {
    end = resolve;
  });
  return {
    ...{ stdin, stdout: new PassThrough(), stderr: new PassThrough(), resize: () => {}, exit },
    kill: async () => end(137),
  };
}

test(
  "a client that leaves while its program reads nothing takes the program with it",
  thorough(),
  async (t) => {
    const session = program(new PassThrough());
    const { client, ws, done } = await serve(t, async () => session);
    for (let i = 0; i < 4; i++) client.send(PIECE);
    await eventually("the server to read no more", () => ws.isPaused);
    client.terminate();
    assert.equal(await session.exit, 137);
    await done;
  },
);

test("what a client sends before its program has begun is kept within bounds, and not lost", async (t) => {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const stdin = new PassThrough();
  let bytes = 0;
  stdin.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  const session = program(stdin);
  const { client, ws, done } = await serve(t, async () => {
    await begun;
    return session;
  });
  for (let i = 0; i < 20; i++) client.send(PIECE);
  await eventually("the server to read no more", () => ws.isPaused);
  begin();
  await eventually("all of it to arrive", () => bytes === 20 * (PIECE.length - 1));
  client.close();
  await done;
});
