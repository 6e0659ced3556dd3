import { Server, ServerCredentials } from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { logCalls, type Observe } from "../log/log-calls.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import { singleFlight } from "../operations/single-flight.ts";
import { claimSocket } from "../sockets/claim.ts";
import { socketPath } from "../sockets/endpoint.ts";
import { validateRequests } from "../validation/validate.ts";
import type { Handlers } from "../wire/method-types.ts";
import { type ServiceName, services } from "../wire/services.ts";
import { adapt } from "./adapter.ts";
import type { Interceptor } from "./interceptor.ts";

/** Handlers by service. What is left out is not served. */
export type Services = { [S in ServiceName]?: Handlers<(typeof services)[S]> };

export interface ServerOptions {
  /** `unix:///path`. */
  endpoint: string;
  logger?: Logger;
  /** Around every unary call, the first outermost. They run after logging and validation, before the locks. */
  interceptors?: readonly Interceptor[];
  /** Called after every call; a place for metrics. */
  observe?: Observe;
}

export interface CsiServer {
  /** Resolves when the socket answers. */
  start(): Promise<void>;
  /** Lets calls under way end for `graceMs` (default 10,000), then cuts them. The socket file is gone afterwards. */
  stop(graceMs?: number): Promise<void>;
}

function bind(server: Server, path: string): Promise<void> {
  // The mode must be right before anyone can connect: a chmod afterwards leaves a gap.
  const umask = process.umask(0o177);
  return new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(CsiError.unavailable(`cannot listen on ${path}: ${error.message}`, { cause: error }));
    });
  }).finally(() => process.umask(umask));
}

function shutDown(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Serves CSI on a unix socket. */
export function createServer(given: Services, options: ServerOptions): CsiServer {
  const path = socketPath(options.endpoint);
  const logger = options.logger ?? silentLogger;
  const server = new Server({
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
  });
  const interceptors = [
    logCalls(options.observe),
    validateRequests,
    ...(options.interceptors ?? []),
    singleFlight(),
  ];
  for (const [name, handlers] of Object.entries(given)) {
    if (handlers === undefined) continue;
    const { definition, implementation } = adapt(services[name as ServiceName], handlers, {
      interceptors,
      logger,
    });
    server.addService(definition, implementation);
  }
  return {
    async start() {
      await claimSocket(path);
      await bind(server, path);
    },
    stop: (graceMs = 10_000) => shutDown(server, graceMs),
  };
}
