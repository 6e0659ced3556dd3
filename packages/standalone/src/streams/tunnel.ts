import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest } from "@mooring/store";
import { createWebSocketStream } from "ws";
import { accept, chooseProtocol, type Upgrade } from "./handshake.ts";

const FORWARD = "portforward.k8s.io";
/** SPDY in the messages of a WebSocket, as kubectl has asked for it since 1.31. */
const TUNNELED = `SPDY/3.1+${FORWARD}`;

/** How a client that forwards ports wants its SPDY connection: in a WebSocket, or in the place of HTTP. */
export type TunnelKind = "websocket" | "spdy";

/** Throws BadRequest when the client offers nothing that is served. */
export function chooseTunnel(request: IncomingMessage): TunnelKind {
  if (request.headers.upgrade?.toLowerCase() !== "spdy/3.1") {
    chooseProtocol(request, [TUNNELED]);
    return "websocket";
  }
  const offered = [request.headers["x-stream-protocol-version"] ?? []]
    .flat()
    .flatMap((each) => each.split(","));
  if (!offered.some((each) => each.trim() === FORWARD))
    throw badRequest(`X-Stream-Protocol-Version must be ${FORWARD}`);
  return "spdy";
}

/** Responds to the handshake; what is returned carries SPDY/3.1. */
export async function acceptTunnel(
  kind: TunnelKind,
  request: IncomingMessage,
  response: ServerResponse,
  upgrade: Upgrade,
): Promise<Duplex> {
  if (kind === "websocket") {
    const ws = await accept(request, response, upgrade, TUNNELED);
    const stream = createWebSocketStream(ws);
    // It ends by itself only for who reads it to its end.
    ws.once("close", () => stream.destroy());
    return stream;
  }
  const { socket, head } = upgrade;
  response.detachSocket(socket as never);
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: SPDY/3.1", "Connection: Upgrade"];
  socket.write([...lines, `X-Stream-Protocol-Version: ${FORWARD}`, "", ""].join("\r\n"));
  if (head.length > 0) socket.unshift(head);
  return socket;
}
