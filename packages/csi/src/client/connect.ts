import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import { socketPath } from "../sockets/endpoint.ts";
import type { CallOptions, ServiceClient } from "../wire/method-types.ts";
import { type ServiceName, services, servicesV0 } from "../wire/services.ts";
import { encodeRequest, streamCall, unaryCall } from "./invoke.ts";

/** How a client behaves. */
export interface ConnectOptions {
  logger?: Logger;
  /** Stops waiting for the plugin. */
  signal?: AbortSignal;
  /** How long to wait for the socket, in milliseconds. Default 30 s; `Infinity` waits for ever. */
  connectTimeoutMs?: number;
  /** Time limit of a call that sets none itself, in milliseconds. Default: none. */
  timeoutMs?: number;
}

/** Every service of a plugin, typed. A service the plugin does not serve answers UNIMPLEMENTED. */
export type CsiClient = {
  readonly [S in ServiceName]: ServiceClient<(typeof services)[S]>;
} & {
  /** The same plugin over csi.v0. */
  readonly v0: { readonly [S in keyof typeof servicesV0]: ServiceClient<(typeof servicesV0)[S]> };
  /** Ends the connection and all calls on it. */
  close(): void;
};

/** Connects to a plugin; settles when its socket answers, and reconnects by itself from then on. */
export async function connect(endpoint: string, options: ConnectOptions = {}): Promise<CsiClient> {
  const path = socketPath(endpoint);
  const logger = options.logger ?? silentLogger;
  const channel = new Client(`unix:${path}`, credentials.createInsecure(), { "grpc.enable_channelz": 0 });
  try {
    await ready(channel, path, options);
  } catch (error) {
    channel.close();
    throw error;
  }
  logger.debug({ endpoint: path }, "connected to the plugin");
  const typed = (desc: DescService) => serviceClient(channel, desc, options);
  const byName = (table: Record<string, DescService>) =>
    Object.fromEntries(Object.entries(table).map(([name, desc]) => [name, typed(desc)]));
  return { ...byName(services), v0: byName(servicesV0), close: () => channel.close() } as CsiClient;
}

function serviceClient(channel: Client, desc: DescService, defaults: ConnectOptions): object {
  return Object.fromEntries(
    desc.methods.map((method) => [method.localName, caller(channel, method, defaults)]),
  );
}

function caller(channel: Client, method: DescMethod, defaults: ConnectOptions) {
  return (init: object, options: CallOptions = {}): Promise<Message> | AsyncIterable<Message> => {
    const timeoutMs = options.timeoutMs ?? defaults.timeoutMs;
    const all = timeoutMs === undefined ? options : { ...options, timeoutMs };
    if (method.methodKind === "server_streaming") {
      return streamCall(channel, method, encodeRequest(method, init), all);
    }
    return (async () => unaryCall(channel, method, encodeRequest(method, init), all))();
  };
}

function ready(channel: Client, path: string, options: ConnectOptions): Promise<void> {
  const { signal, connectTimeoutMs = 30_000 } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(stopped(path, signal));
    const onAbort = () => reject(stopped(path, signal));
    signal?.addEventListener("abort", onAbort, { once: true });
    channel.waitForReady(
      connectTimeoutMs === Infinity ? Infinity : Date.now() + connectTimeoutMs,
      (error) => {
        signal?.removeEventListener("abort", onAbort);
        if (error === undefined) resolve();
        else
          reject(
            CsiError.unavailable(`nobody answers on ${path}`, { reason: "CSI_NOT_CONNECTED", cause: error }),
          );
      },
    );
  });
}

function stopped(path: string, signal: AbortSignal | undefined): CsiError {
  return CsiError.cancelled(`stopped waiting for a plugin on ${path}`, { cause: signal?.reason });
}
