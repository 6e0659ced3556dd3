import type { DescService } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { type Logger, silentLogger } from "../log/logger.ts";
import { socketPath } from "../sockets/endpoint.ts";
import type { Handlers } from "../wire/method-types.ts";
import { type ServiceName, services as wireServices } from "../wire/services.ts";
import { bindStream, bindUnary, wireDefinition } from "./bind-method.ts";
import { chain, type Invoke, type ServerInterceptor } from "./call.ts";
import { dispatch } from "./dispatch.ts";

/** The handlers of every service that a plugin serves. Identity is always served. */
export type CsiServices = {
  [S in ServiceName]?: Handlers<(typeof wireServices)[S]>;
} & { identity: Handlers<typeof wireServices.identity> };

/** How a server listens and what surrounds its handlers. */
export interface ServerOptions {
  /** `unix:///path`, `unix:relative` or a bare path. */
  endpoint: string;
  logger?: Logger;
  /** Own layers around every call, the first one outermost; they run after validation. */
  interceptors?: readonly ServerInterceptor[];
}

/** A plugin's endpoint. */
export interface CsiServer {
  /** Binds the socket; settles when calls are accepted. */
  start(): Promise<void>;
  /** Takes no new calls, waits up to `graceMs` (default 10 s) for those that run, then cuts them off. */
  stop(graceMs?: number): Promise<void>;
}

/** Serves CSI handlers on a unix socket. */
export function createServer(services: CsiServices, options: ServerOptions): CsiServer {
  const logger = options.logger ?? silentLogger;
  const path = socketPath(options.endpoint);
  const server = new Server({ "grpc.enable_channelz": 0 });
  const handlers = new Map<DescService, object>();
  for (const [name, desc] of Object.entries(wireServices)) {
    const own = services[name as ServiceName];
    if (own !== undefined) handlers.set(desc, own);
  }
  const invoke = chain(options.interceptors ?? [], dispatch(handlers));
  for (const desc of handlers.keys()) addService(server, desc, invoke, logger);
  return {
    start: () => listen(server, path),
    stop: (graceMs = 10_000) => shutdown(server, graceMs),
  };
}

function addService(server: Server, desc: DescService, invoke: Invoke, logger: Logger): void {
  const implementation: UntypedServiceImplementation = {};
  for (const method of desc.methods) {
    implementation[method.name] =
      method.methodKind === "server_streaming"
        ? bindStream(method, invoke, logger)
        : bindUnary(method, invoke, logger);
  }
  server.addService(
    Object.fromEntries(desc.methods.map((method) => [method.name, wireDefinition(method)])),
    implementation,
  );
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function shutdown(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
