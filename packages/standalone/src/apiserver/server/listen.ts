import { randomUUID } from "node:crypto";
import { type IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Upgrade } from "../../streams/handshake.ts";
import type { Api } from "../api.ts";
import { ANONYMOUS, authenticate } from "../auth/authenticate.ts";
import type { Call } from "../http/call.ts";
import { sendError, toStatusError } from "../http/respond.ts";
import type { KeyPair } from "../pki/issue.ts";
import { createCall } from "./call.ts";
import { route } from "./route.ts";

/** client-go keeps idle connections for 90 seconds; closing them first would fail its next request. */
const KEEP_ALIVE_MS = 120_000;

/** Starts the HTTPS server; resolves when it listens. */
export async function listen(
  api: Api,
  pair: KeyPair,
  at: { host: string; port: number },
): Promise<{ server: Server; address: AddressInfo }> {
  const server = createServer(
    { ...pair, minVersion: "TLSv1.2", ALPNProtocols: ["http/1.1"], keepAlive: true, noDelay: true },
    (request, response) => void answer(request, response, api),
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  server.on("tlsClientError", () => {});
  server.on("upgrade", (request, socket, head) => void answerUpgrade(request, { socket, head }, api));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at.port, at.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return { server, address: server.address() as AddressInfo };
}

/** As any other request, which is also how it is refused, until somebody takes the connection. */
async function answerUpgrade(request: IncomingMessage, upgrade: Upgrade, api: Api): Promise<void> {
  const { socket } = upgrade;
  socket.on("error", () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => socket.end());
  await answer(request, response, api, upgrade);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  api: Api,
  upgrade?: Upgrade,
): Promise<void> {
  response.setHeader("Audit-Id", randomUUID());
  response.setHeader("Cache-Control", "no-cache, private");
  response.on("error", () => {});
  let call: Call | undefined;
  try {
    call = createCall(request, response, ANONYMOUS);
    if (upgrade !== undefined) call.upgrade = upgrade;
    call.user = authenticate(request, api.readToken);
    await route(call, api);
  } catch (error) {
    await refuse(request, response, call, error, api);
  } finally {
    api.metrics.count(request.method ?? "", response.statusCode);
  }
}

async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  call: Call | undefined,
  error: unknown,
  api: Api,
): Promise<void> {
  if (response.destroyed || call?.signal.aborted) {
    response.destroy();
    return;
  }
  const status = toStatusError(error);
  if (status !== error) api.logger.error({ err: error, url: request.url }, "A request failed unexpectedly");
  const fallback = { request, response, method: request.method ?? "GET" } as Call;
  await sendError(call ?? fallback, status).catch(() => response.destroy());
}
