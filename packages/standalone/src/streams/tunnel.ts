import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createWebSocketStream } from "ws";
import {
  accept,
  acceptSpdy,
  chooseProtocol,
  chooseSpdyProtocol,
  type Upgrade,
  wantsSpdy,
} from "./handshake.ts";

const FORWARD = "portforward.k8s.io";
/** SPDY in the messages of a WebSocket, as kubectl has asked for it since 1.31. */
const TUNNELED = `SPDY/3.1+${FORWARD}`;

/** How a client that forwards ports wants its SPDY connection: in a WebSocket, or in the place of HTTP. */
export type TunnelKind = "websocket" | "spdy";

/** Throws when the client offers nothing that is served. */
export function chooseTunnel(request: IncomingMessage, response: ServerResponse): TunnelKind {
  if (wantsSpdy(request)) {
    chooseSpdyProtocol(request, response, [FORWARD]);
    return "spdy";
  }
  chooseProtocol(request, [TUNNELED]);
  return "websocket";
}

/** Responds to the handshake; what is returned carries SPDY/3.1. */
export async function acceptTunnel(
  kind: TunnelKind,
  request: IncomingMessage,
  response: ServerResponse,
  upgrade: Upgrade,
): Promise<Duplex> {
  if (kind === "spdy") return acceptSpdy(response, upgrade, FORWARD);
  const ws = await accept(request, response, upgrade, TUNNELED);
  const stream = createWebSocketStream(ws);
  // It ends by itself only for who reads it to its end.
  ws.once("close", () => stream.destroy());
  return stream;
}
