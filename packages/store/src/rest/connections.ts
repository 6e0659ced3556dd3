/// <reference path="./undici.d.ts" />
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { buildConnector, Pool as Connections } from "undici";
import type { TlsAccess } from "./access.ts";

export type { Connections };

/** How long an unused connection is kept: less than servers and what is in front of them do, as a new one costs a handshake. */
const IDLE_MS = 30_000;
/** A server that says when it closes idle connections has them closed so much before: using one at that moment would seem a failure. */
const BEFORE_SERVER_MS = 1_000;
const TCP_KEEP_ALIVE_MS = 30_000;

/**
 * Connections to a server: `most`, or as many as there are requests at once; `timeoutMs`: in which each has to be made. Only now are the parts
 * of undici read that this takes: `mooring up` asks no server, and the whole package has fetch, caches and proxies.
 */
export async function connectionsTo(
  server: string,
  tls: TlsAccess,
  { most = null, timeoutMs }: { most?: number | null; timeoutMs: number },
): Promise<Connections> {
  const { default: Pool } = await import("undici/lib/dispatcher/pool.js");
  const { default: connector } = await import("undici/lib/core/connect.js");
  return new Pool(new URL(server).origin, {
    connections: most,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    keepAliveTimeoutThreshold: BEFORE_SERVER_MS,
    // Each exchange has a timer of its own, to the millisecond.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: connecting(server, tls, (options) => connector({ ...options, timeout: timeoutMs })),
  });
}

/** A connection that is still being made keeps no process: the requests that wait for it do. */
function connecting(
  server: string,
  { ca, cert, key, ...tls }: TlsAccess,
  connector: (options: buildConnector.BuildOptions) => buildConnector.connector,
): buildConnector.connector {
  // Certificates and keys are read once for all connections: given as they are, each would read them again.
  const secure = server.startsWith("https:") && { secureContext: createSecureContext({ ca, cert, key }) };
  const connect = connector({ ...tls, ...secure, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS });
  return (options, callback) => {
    const socket = connect(options, (...[error, connected]: [Error, null] | [null, Socket]) => {
      connected?.ref();
      if (error === null) callback(null, connected);
      else callback(error, null);
    }) as unknown as Socket;
    socket.unref();
  };
}
