import { Server, ServerCredentials } from "@grpc/grpc-js";
import { type Listener, listen } from "../sockets/listen.ts";

/** A plugin's endpoint. */
export interface CsiServer {
  /** Settles when the socket accepts calls. FAILED_PRECONDITION when another process listens on it. */
  start(): Promise<void>;
  /** Lets calls under way end for `graceMs` (default 10,000), then ends them. The socket file is gone at once. */
  stop(graceMs?: number): Promise<void>;
}

/** Serves on a unix socket what `register` gives to the gRPC server. */
export function onSocket(path: string, register: (server: Server) => void): CsiServer {
  const server = new Server({ "grpc.enable_channelz": 0 });
  register(server);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  let listener: Promise<Listener> | undefined;
  return {
    start: async () => {
      listener ??= listen(path, (socket) => injector.injectConnection(socket));
      await listener;
    },
    stop: async (graceMs = 10_000) => {
      const open = await listener?.catch(() => undefined);
      await open?.close();
      await shutDown(server, graceMs, () => open?.endConnections());
    },
  };
}

/** Waits for calls under way. `endAll` ends the connections: grpc-js' own `forceShutdown` leaves them open. */
function shutDown(server: Server, graceMs: number, endAll: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      endAll();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
