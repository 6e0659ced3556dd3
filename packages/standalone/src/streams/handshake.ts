import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, StatusError } from "@mooring/store";
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

/** Whether the client asks for SPDY/3.1. Throws BadRequest when it asks for neither that nor a WebSocket. */
export function wantsSpdy(request: IncomingMessage): boolean {
  const wanted = request.headers.upgrade?.toLowerCase();
  if (wanted !== "websocket" && wanted !== "spdy/3.1")
    throw badRequest("unable to upgrade: the header Upgrade must be websocket or SPDY/3.1");
  return wanted === "spdy/3.1";
}

/** The first of our protocols that a client of a WebSocket offers. Throws BadRequest when there is none. */
export function chooseProtocol(request: IncomingMessage, ours: readonly string[]): string {
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
  const protocol = ours.find((each) => offered.includes(each));
  if (protocol === undefined)
    throw badRequest(`none of the protocols ${offered.join(", ")} is served; ${ours.join(" and ")} are`);
  return protocol;
}

const SPDY_PROTOCOL = "X-Stream-Protocol-Version";

/**
 * The first that a client of SPDY offers and that is one of ours. Throws as Kubernetes does: BadRequest when it offers none, and
 * Forbidden, with a header that names ours, when it offers others.
 */
export function chooseSpdyProtocol<Protocol extends string>(
  request: IncomingMessage,
  response: ServerResponse,
  ours: readonly Protocol[],
): Protocol {
  const offered = [request.headers[SPDY_PROTOCOL.toLowerCase()] ?? []]
    .flat()
    .flatMap((each) => each.split(",").map((name) => name.trim()))
    .filter((each) => each !== "");
  if (offered.length === 0)
    throw badRequest(`unable to upgrade: the header ${SPDY_PROTOCOL} names no protocol`);
  for (const each of offered) {
    const protocol = ours.find((own) => own === each);
    if (protocol !== undefined) return protocol;
  }
  response.setHeader("X-Accepted-Stream-Protocol-Versions", [...ours]);
  throw new StatusError(
    "Forbidden",
    `unable to upgrade: unable to negotiate protocol: client supports ${offered.join(", ")}, server accepts ${ours.join(", ")}`,
  );
}

/** Responds to the handshake; what is returned carries SPDY/3.1. */
export function acceptSpdy(response: ServerResponse, { socket, head }: Upgrade, protocol: string): Duplex {
  response.detachSocket(socket as never);
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: SPDY/3.1", "Connection: Upgrade"];
  socket.write([...lines, `${SPDY_PROTOCOL}: ${protocol}`, "", ""].join("\r\n"));
  if (head.length > 0) socket.unshift(head);
  return socket;
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
