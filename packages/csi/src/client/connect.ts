import type { DescService } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { type Logger, silentLogger } from "../log/logger.ts";
import { socketPath } from "../sockets/endpoint.ts";
import type { CallOptions, ServiceClient } from "../wire/method-types.ts";
import { type ServiceName, services } from "../wire/services.ts";
import { callStream, callUnary } from "./call.ts";

export interface ConnectOptions {
  logger?: Logger;
  /** For calls that name none, in milliseconds; default none. */
  timeoutMs?: number;
}

/** A plugin's services, typed. One channel, reconnecting by itself. */
export type CsiClient = { readonly [S in ServiceName]: ServiceClient<(typeof services)[S]> } & {
  readonly endpoint: string;
  close(): void;
};

function serviceClient<S extends DescService>(
  client: Client,
  service: S,
  defaults: CallOptions,
): ServiceClient<S> {
  const methods: Record<string, unknown> = {};
  for (const method of service.methods) {
    methods[method.localName] = (request: unknown, options: CallOptions = {}) => {
      const merged = { ...defaults, ...options };
      return method.methodKind === "server_streaming"
        ? callStream(client, method, request, merged)
        : callUnary(client, method, request, merged);
    };
  }
  return methods as ServiceClient<S>;
}

/** A client of the plugin behind `endpoint` (`unix:///path`). It connects with its first call. */
export async function connect(endpoint: string, options: ConnectOptions = {}): Promise<CsiClient> {
  const path = socketPath(endpoint);
  const logger = options.logger ?? silentLogger;
  const client = new Client(`unix:${path}`, credentials.createInsecure(), {
    "grpc.enable_channelz": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.max_receive_message_length": -1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2000,
  });
  logger.debug({ endpoint: path }, "talking to a CSI plugin");
  const defaults: CallOptions = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
  const clients = Object.fromEntries(
    Object.entries(services).map(([name, service]) => [name, serviceClient(client, service, defaults)]),
  );
  return { ...clients, endpoint, close: () => client.close() } as CsiClient;
}
