import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:tls";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { compose } from "../calls/interceptor.ts";
import { logCalls } from "../calls/log-calls.ts";
import { SnapshotMetadata } from "../gen/snapshotmetadata/snapshotmetadata_pb.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import type { Observe } from "../metrics/observe.ts";
import { addService } from "../server/adapter.ts";
import { route } from "../server/route.ts";
import type { Handlers } from "../wire/method-types.ts";

/** PEM, the certificate with its chain. */
export interface CertifiedKey {
  cert: string;
  key: string;
}

/** Where the service listens, and by which certificate clients know it. */
export interface SnapshotMetadataServerOptions {
  host: string;
  /** 0: a free one. */
  port: number;
  tls: CertifiedKey;
  logger?: Logger;
  /** Called after every call, for metrics. */
  observe?: Observe;
}

/** The service is listening. */
export interface SnapshotMetadataServer {
  port: number;
  /** For connections from now on; those that are open go on. Throws for what is no certificate with its key. */
  setCertificate(tls: CertifiedKey): void;
  /** Ends calls under way, too. */
  close(): Promise<void>;
}

/** Between a connection and the end of its handshake, in milliseconds. */
const HANDSHAKE_MS = 10_000;

/**
 * Serves `snapshotmetadata.SnapshotMetadata`, which backup programs of a cluster call, by TLS. Who calls is known by the token
 * in each request, so nobody needs a certificate.
 */
export async function serveSnapshotMetadata(
  handlers: Handlers<typeof SnapshotMetadata>,
  { host, port, tls, logger = silentLogger, observe }: SnapshotMetadataServerOptions,
): Promise<SnapshotMetadataServer> {
  const server = new Server({ "grpc.enable_channelz": 0 });
  const next = compose([logCalls], route(new Map([[SnapshotMetadata, handlers]])));
  addService(server, SnapshotMetadata, { nextOf: () => next, logger, observe });
  // The connection is one of ours, and not of grpc-js: only so can the certificate be changed while calls are under way.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer(
    { ...tls, ALPNProtocols: ["h2"], minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS },
    (socket) => injector.injectConnection(socket),
  );
  // Also those whose handshake has not ended, or has not begun.
  const open = new Set<Socket>();
  listener.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  listener.on("tlsClientError", (error) => logger.debug({ error: error.message }, "a TLS handshake failed"));
  listener.listen(port, host);
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    setCertificate: (changed) => listener.setSecureContext({ ...changed, minVersion: "TLSv1.2" }),
    async close() {
      const closed = once(listener, "close");
      listener.close();
      server.forceShutdown();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
