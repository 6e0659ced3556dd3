import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest } from "@mooring/store";
import { type WebSocket, WebSocketServer } from "ws";

/** A request that asks for another protocol on its connection, before the server has sent any response. */
export interface Upgrade {
  socket: Duplex;
  /** What the client has sent after its request. */
  head: Buffer;
}

/** No user types more at once, and clients split what they copy into smaller pieces. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * A client that has left is noticed only by reading or by writing, and neither is done while its program takes no input and writes
 * nothing.
 */
const PING_MS = 5_000;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  maxPayload: MOST_BYTES,
  perMessageDeflate: false,
  // Set by `accept`, which has checked what the client offers.
  handleProtocols: (_offered, request) => chosen.get(request) ?? false,
});
const chosen = new WeakMap<IncomingMessage, string>();

/** The first of our protocols that the client offers. Throws BadRequest when there is none, or it wants no WebSocket. */
export function chooseProtocol(request: IncomingMessage, ours: readonly string[]): string {
  if (request.headers.upgrade?.toLowerCase() !== "websocket")
    throw badRequest(
      "this is served over WebSockets only: use kubectl 1.31 or newer, without KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false",
    );
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
  const protocol = ours.find((each) => offered.includes(each));
  if (protocol === undefined)
    throw badRequest(`none of the protocols ${offered.join(", ")} is served; ${ours.join(" and ")} are`);
  return protocol;
}

/** Responds to the handshake; from then on the connection is the WebSocket's. */
export function accept(
  request: IncomingMessage,
  response: ServerResponse,
  { socket, head }: Upgrade,
  protocol: string,
): Promise<WebSocket> {
  chosen.set(request, protocol);
  // Headers of ours, such as the id of the audit, are not part of a handshake.
  response.detachSocket(socket as never);
  return new Promise((resolve, reject) => {
    socket.once("close", () => reject(new Error("the client has left")));
    server.handleUpgrade(request, socket, head, (ws) => {
      // What a client breaks of the protocol ends its connection, by "close".
      ws.on("error", () => {});
      const pinging = setInterval(() => ws.ping(), PING_MS).unref();
      ws.once("close", () => clearInterval(pinging));
      resolve(ws);
    });
  });
}
