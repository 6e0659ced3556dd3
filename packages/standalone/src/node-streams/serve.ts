import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import {
  createServer as createLocalServer,
  type IncomingMessage,
  type Server as LocalServer,
  ServerResponse,
} from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { firstOf, isStatus, type Logger, type ObjectStore, StatusError } from "@mooring/store";
import type { Kubelet } from "../kubelet/index.ts";
import type { KeyPair } from "../pki/issue.ts";
import type { Upgrade } from "../streams/handshake.ts";
import { sendLog } from "../streams/send-log.ts";
import { acceptUpgrade } from "./accept-upgrade.ts";
import { isToken, type LocalAccess, publishAccess, withdrawAccess } from "./access.ts";
import { CLAIMS_PATH, LOGS_PATH, readQuery, type WholeLogRequest } from "./query.ts";

/** Where a node serves the streams of its pods, and who runs them. */
export interface StreamServerOptions {
  store: ObjectStore;
  nodeName: string;
  kubelet: Pick<Kubelet, "exec" | "forward" | "logs" | "measureClaims">;
  /** The one address to listen on: that of this machine from which it reaches the API server. */
  host: string;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Serves the logs of this node's pods, streams into them, and what their claims have left, to the API server, over TLS with
 * an authority and a token that are made for this start and handed over in a Secret. Resolves when they can be asked for.
 */
export async function serveNodeStreams(options: StreamServerOptions): Promise<{ done: Promise<void> }> {
  const { store, nodeName, host, logger, signal } = options;
  const token = randomBytes(32).toString("base64url");
  const { ca, pair } = await issue(host);
  const server = createServer({ ...pair, minVersion: "TLSv1.2" });
  server.on("tlsClientError", () => {});
  handleRequests(server, (request, exchange) => serve(options, token, request, exchange));
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    await publishAccess(store, nodeName, { host, port, ca, token });
  } catch (error) {
    server.close();
    throw error;
  }
  const done = stopped(server, signal).then(() =>
    withdrawAccess(store, nodeName).catch((error: unknown) =>
      logger.warn({ err: error }, "cannot take back how this node's logs are reached"),
    ),
  );
  return { done };
}

/** The same for this process's own API server, which runs in another thread: over a socket that no other user can reach. */
export async function serveLocalStreams({
  socketPath,
  ...options
}: Served & LocalAccess): Promise<{ done: Promise<void> }> {
  const server = createLocalServer();
  handleRequests(server, (request, exchange) => serve(options, undefined, request, exchange));
  await rm(socketPath, { force: true });
  server.listen(socketPath);
  await once(server, "listening");
  return { done: stopped(server, options.signal) };
}

/** Whose streams are served, as far as a request needs it. */
interface Served extends Pick<StreamServerOptions, "logger" | "signal"> {
  /** Absent in the process of the API server, which does not ask over a socket what claims have left. */
  kubelet: Pick<Kubelet, "exec" | "forward"> &
    Partial<Pick<Kubelet, "measureClaims">> & {
      logs(request: WholeLogRequest): AsyncIterable<string | Uint8Array>;
    };
}

interface Exchange {
  response: ServerResponse;
  upgrade?: Upgrade;
}

function handleRequests(
  server: Server | LocalServer,
  serve: (request: IncomingMessage, exchange: Exchange) => Promise<void>,
): void {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void serve(request, { response });
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once("finish", () => socket.end());
    void serve(request, { response, upgrade: { socket, head } });
  });
}

async function issue(host: string): Promise<{ ca: string; pair: KeyPair }> {
  const { issueAuthority, issueServer } = await import("../pki/issue.ts");
  const now = new Date();
  const authority = await issueAuthority(now);
  return { ca: authority.cert, pair: await issueServer(authority, [host], now) };
}

async function stopped(server: Server | LocalServer, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

async function serve(
  { kubelet, logger, signal }: Served,
  token: string | undefined,
  request: IncomingMessage,
  { response, upgrade }: Exchange,
): Promise<void> {
  const over = new AbortController();
  response.on("error", () => {});
  response.once("close", () => over.abort());
  try {
    const url = new URL(request.url ?? "/", "https://node");
    const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    if (token !== undefined && !isToken(given, token)) throw new StatusError("Unauthorized", "Unauthorized");
    if (upgrade !== undefined)
      return await acceptUpgrade(kubelet, { request, response, upgrade, url }, signal);
    if (request.method === "GET" && url.pathname === CLAIMS_PATH && kubelet.measureClaims !== undefined)
      return sendJson(response, await kubelet.measureClaims());
    if (request.method !== "GET" || url.pathname !== LOGS_PATH) {
      throw new StatusError("NotFound", "a node serves its own pods only");
    }
    await firstOf([over.signal, signal], (either) =>
      sendLog(response, kubelet.logs(readQuery(url.searchParams, either)), over.signal),
    );
  } catch (error) {
    refuse(response, error, over.signal, logger);
  } finally {
    over.abort();
  }
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}

function refuse(response: ServerResponse, error: unknown, over: AbortSignal, logger: Logger): void {
  if (over.aborted || response.headersSent) {
    response.destroy();
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  const status = isStatus(error) ? error : new StatusError("InternalError", message);
  if (status !== error) logger.error({ err: error }, "cannot respond to the API server");
  response.writeHead(status.code, { "Content-Type": "application/json" });
  response.end(`${JSON.stringify(status.toStatus())}\n`);
}
