import type { IncomingMessage, ServerResponse } from "node:http";
import { CHANNEL_PROTOCOLS, overWebSocket } from "./channels.ts";
import type { Connect, WantedStreams } from "./client.ts";
import {
  accept,
  acceptSpdy,
  chooseProtocol,
  chooseSpdyProtocol,
  type Upgrade,
  wantsSpdy,
} from "./handshake.ts";
import { overSpdy, SPDY_PROTOCOLS, type SpdyProtocol } from "./spdy-client.ts";

/** How a client that runs a program wants its streams carried. */
export type Transport = { kind: "websocket"; protocol: string } | { kind: "spdy"; protocol: SpdyProtocol };

/** A request whose connection is taken over. */
interface Taken {
  request: IncomingMessage;
  response: ServerResponse;
  upgrade: Upgrade;
}

/** Throws when the client offers nothing that is served. */
export function chooseTransport(request: IncomingMessage, response: ServerResponse): Transport {
  if (wantsSpdy(request))
    return { kind: "spdy", protocol: chooseSpdyProtocol(request, response, SPDY_PROTOCOLS) };
  return { kind: "websocket", protocol: chooseProtocol(request, CHANNEL_PROTOCOLS) };
}

/** Responds to the handshake. Nothing may throw after that. */
export async function acceptTransport(
  transport: Transport,
  { request, response, upgrade }: Taken,
  wanted: WantedStreams,
): Promise<Connect> {
  const { kind, protocol } = transport;
  if (kind === "spdy") return overSpdy(acceptSpdy(response, upgrade, protocol), protocol, wanted);
  return overWebSocket(await accept(request, response, upgrade, protocol));
}
