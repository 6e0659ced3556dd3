import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { fullName } from "../calls/interceptor.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import { type Observe, observed, observedStream } from "../metrics/observe.ts";
import { socketPath } from "../sockets/endpoint.ts";
import type { CallOptions } from "../wire/method-types.ts";
import { services, servicesV0 } from "../wire/services.ts";
import { callStream, callUnary, encodeRequest } from "./call.ts";
import type { CsiClient } from "./csi-client.ts";
import { probeUntilReady } from "./probe.ts";
import { type RetryPolicy, streamWithRetry, withRetry } from "./retry.ts";

/** How a client behaves. */
export interface ConnectOptions {
  logger?: Logger;
  /** Time for a call that sets none itself, in milliseconds. Default: no limit. */
  timeoutMs?: number;
  /**
   * Makes failed calls again; a stream only until its first message. Default: never; callers with a work queue retry
   * themselves.
   */
  retry?: RetryPolicy;
  /** Called after every call, with the time that its retries took; a place for metrics. */
  observe?: Observe;
  /** Wait until the plugin reports that it is ready, for at most so many milliseconds. Default: do not wait. */
  readyTimeoutMs?: number;
  /** Ends that wait. */
  signal?: AbortSignal;
}

const CHANNEL_OPTIONS = {
  "grpc.enable_channelz": 0,
  "grpc.enable_http_proxy": 0,
  // Responses such as that of ListVolumes have no limit in CSI.
  "grpc.max_receive_message_length": -1,
  // A plugin that restarts on the same machine is back soon.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2000,
};

/**
 * A client of the plugin on `endpoint` (`unix:///path`). It connects with its first call and again whenever the
 * connection is lost. Close it when done.
 */
export async function connect(endpoint: string, options: ConnectOptions = {}): Promise<CsiClient> {
  const channel = openChannel(endpoint);
  const typed = (table: Readonly<Record<string, DescService>>) =>
    Object.fromEntries(
      Object.entries(table).map(([name, service]) => [name, serviceClient(channel, service, options)]),
    );
  const close = (): void => channel.close();
  const client = { ...typed(services), v0: typed(servicesV0), endpoint, close } as unknown as CsiClient;
  if (options.readyTimeoutMs === undefined) return client;
  try {
    const { readyTimeoutMs: timeoutMs, signal } = options;
    await probeUntilReady(client, { timeoutMs, ...(signal ? { signal } : {}) });
    return client;
  } catch (error) {
    close();
    throw error;
  }
}

/** A channel to the socket `endpoint`; nothing is sent before the first call. */
export function openChannel(endpoint: string): Client {
  return new Client(`unix:${socketPath(endpoint)}`, credentials.createInsecure(), CHANNEL_OPTIONS);
}

/** The methods of a service, as functions that call them on the channel. */
export function serviceClient(channel: Client, service: DescService, options: ConnectOptions): object {
  return Object.fromEntries(
    service.methods.map((method) => [method.localName, caller(channel, method, options)]),
  );
}

function caller(channel: Client, method: DescMethod, defaults: ConnectOptions) {
  const withDefaults = (options: CallOptions): CallOptions =>
    defaults.timeoutMs === undefined ? options : { timeoutMs: defaults.timeoutMs, ...options };
  const { observe, retry, logger = silentLogger } = defaults;
  const name = fullName(method);
  const report: Observe = (call) => {
    observe?.(call);
    logger.debug(call, "called the plugin");
  };
  if (method.methodKind === "server_streaming") {
    return (init: Record<string, unknown>, options: CallOptions = {}): AsyncIterable<Message> => {
      const request = encodeRequest(method, init);
      const open = (each: CallOptions) => callStream(channel, method, request, each);
      return observedStream(name, report, logger, streamWithRetry(retry, withDefaults(options), open));
    };
  }
  return async (init: Record<string, unknown>, options: CallOptions = {}): Promise<Message> => {
    const request = encodeRequest(method, init);
    const attempt = (each: CallOptions) => callUnary(channel, method, request, each);
    return observed(name, report, logger, () => withRetry(retry, withDefaults(options), attempt));
  };
}
