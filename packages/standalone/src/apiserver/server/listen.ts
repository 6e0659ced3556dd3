import { randomUUID } from "node:crypto";
import { type IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Pki } from "../../pki/pki.ts";
import type { Upgrade } from "../../streams/handshake.ts";
import type { Api } from "../api.ts";
import { ANONYMOUS, authenticate } from "../auth/authenticate.ts";
import { nodeOf } from "../auth/node-name.ts";
import { tooMany } from "../fairness/lasting.ts";
import type { Call } from "../http/call.ts";
import { sendError, toStatusError } from "../http/respond.ts";
import { createCall } from "./call.ts";
import { route } from "./route.ts";

/** client-go keeps idle connections for 90 seconds; closing them first would fail its next request. */
const KEEP_ALIVE_MS = 120_000;

/** A client that has not sent its headers by then is closed; a request has come whole within a minute. */
const HEADERS_MS = 9_000;
const REQUEST_MS = 60_000;
/** How often connections are checked: the two together are the ten seconds that are promised. */
const CHECK_MS = 1_000;

/** Starts the HTTPS server; resolves when it listens. */
export async function listen(
  api: Api,
  pki: Pick<Pki, "caPem" | "server">,
  at: { host: string; port: number },
): Promise<{ server: Server; address: AddressInfo }> {
  const server = createServer(
    {
      ...secureContext(pki),
      // Nodes have certificates; a client without one is known by a token, or is anonymous.
      ...{ requestCert: true, rejectUnauthorized: false },
      ...{ minVersion: "TLSv1.2", ALPNProtocols: ["http/1.1"], keepAlive: true, noDelay: true },
      ...{ headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, handshakeTimeout: HEADERS_MS },
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => void serve(request, response, api),
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on("connection", (socket: Socket) => api.connections.opened(socket));
  server.on("tlsClientError", () => {});
  server.on("upgrade", (request, socket, head) => void acceptUpgrade(request, { socket, head }, api));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at.port, at.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return { server, address: server.address() as AddressInfo };
}

/** The authority comes along, so that a machine that has its hash only can know the server by it. */
export function secureContext({ caPem, server }: Pick<Pki, "caPem" | "server">): {
  cert: string;
  key: string;
  ca: string;
} {
  return { cert: `${server.cert.trimEnd()}\n${caPem}`, key: server.key, ca: caPem };
}

/** As any other request, which is also how it is refused, until a handler takes the connection. */
async function acceptUpgrade(request: IncomingMessage, upgrade: Upgrade, api: Api): Promise<void> {
  const { socket } = upgrade;
  socket.on("error", () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => socket.end());
  await serve(request, response, api, upgrade);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  api: Api,
  upgrade?: Upgrade,
): Promise<void> {
  response.setHeader("Audit-Id", randomUUID());
  response.setHeader("Cache-Control", "no-cache, private");
  response.on("error", () => {});
  let call: Call | undefined;
  const connection = api.connections.use(request.socket);
  // What has changed its protocol keeps the connection for good.
  if (upgrade === undefined) response.once("close", connection.end);
  try {
    call = createCall(request, response, { user: ANONYMOUS, parser: api.parser, buffers: api.buffers });
    if (upgrade !== undefined) call.upgrade = upgrade;
    call.user = await authenticate(request, api);
    call.caller = call.user;
    if (!connection.by(call.caller)) {
      response.shouldKeepAlive = false;
      throw tooMany("connections");
    }
    await route(call, api);
  } catch (error) {
    await refuse({ request, response }, call, error, api);
  } finally {
    api.metrics.count(request.method ?? "", response.statusCode);
  }
}

async function refuse(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  call: Call | undefined,
  error: unknown,
  api: Api,
): Promise<void> {
  // That it took too long was said already.
  if (response.writableEnded) return;
  if (response.destroyed || call?.signal.aborted) {
    response.destroy();
    return;
  }
  const status = toStatusError(error);
  const node = call === undefined ? undefined : nodeOf(call.user);
  if (node !== undefined && status.reason === "Forbidden")
    api.logger.warn(
      { node, method: request.method, url: request.url, why: status.message },
      "A node was refused",
    );
  if (status !== error) api.logger.error({ err: error, url: request.url }, "A request failed unexpectedly");
  const fallback = { request, response, method: request.method ?? "GET" } as Call;
  await sendError(call ?? fallback, status).catch(() => response.destroy());
}
