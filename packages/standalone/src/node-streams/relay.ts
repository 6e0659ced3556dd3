import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StatusError } from "@mooring/store";
import type { Upgrade } from "../streams/handshake.ts";
import { type LocalAccess, type NodeAccess, requestTo } from "./access.ts";
import { failure } from "./fetch.ts";

/** How long a node may take to take a connection over. */
const RESPONSE_MS = 10_000;
/** The headers of a WebSocket or SPDY handshake that are passed on, in either direction. No other header is. */
const PASSED = [
  ...["upgrade", "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol"],
  ...["sec-websocket-accept", "x-stream-protocol-version"],
];

/**
 * Hands a client's connection on to a node, and resolves when it has ended. `path`: of `execPath` or `forwardPath`. Throws a
 * StatusError before it has sent any response.
 */
export type Relay = (connection: Relayed, path: string, stop: AbortSignal) => Promise<void>;

/** A client's connection, not yet upgraded. */
export interface Relayed {
  request: IncomingMessage;
  response: ServerResponse;
  upgrade: Upgrade;
}

/**
 * Hands a client's connection on to a node, which responds to its handshake, and copies both ways until either end is closed.
 * Throws what the node refuses it with, before it has sent any response.
 */
export async function relay(
  { request, response, upgrade }: Relayed,
  access: NodeAccess | LocalAccess,
  path: string,
  stop: AbortSignal,
): Promise<void> {
  const { response: handshake, socket: node, head } = await ask(access, path, passed(request.headers), stop);
  const { socket: client } = upgrade;
  response.detachSocket(client as never);
  response.statusCode = 101;
  const lines = Object.entries(passed(handshake.headers)).map(([name, value]) => `${name}: ${value}`);
  client.write(["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", ...lines, "", ""].join("\r\n"));
  if (head.length > 0) node.unshift(head);
  if (upgrade.head.length > 0) client.unshift(upgrade.head);
  const end = () => {
    node.destroy();
    client.destroy();
  };
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  try {
    await Promise.all([pipeline(client, node), pipeline(node, client)]);
  } catch {
    // Either has gone.
  } finally {
    stop.removeEventListener("abort", end);
    end();
  }
}

interface Taken {
  response: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

async function ask(
  access: NodeAccess | LocalAccess,
  path: string,
  headers: Record<string, string>,
  stop: AbortSignal,
): Promise<Taken> {
  const { sent } = requestTo(access, {
    ...{ path, signal: stop },
    headers: { ...headers, connection: "Upgrade" },
  });
  const late = setTimeout(
    () => sent.destroy(new Error(`no response for ${RESPONSE_MS / 1000} s`)),
    RESPONSE_MS,
  );
  const refused = once(sent, "response").then(async ([response]) => {
    throw await failure(response as IncomingMessage);
  });
  const taken = once(sent, "upgrade").then(
    ([response, socket, head]): Taken => ({ response, socket: socket as Duplex, head: head as Buffer }),
  );
  // No client reads the second one.
  refused.catch(() => {});
  taken.catch(() => {});
  try {
    sent.end();
    const first = await Promise.race([refused, taken]);
    if (first === undefined) throw new StatusError("InternalError", "the node did not take the connection");
    first.socket.on("error", () => {});
    return first;
  } finally {
    clearTimeout(late);
  }
}

function passed(headers: IncomingHttpHeaders): Record<string, string> {
  const found = PASSED.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return Object.fromEntries(found);
}
