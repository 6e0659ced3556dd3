import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { CallContext } from "../calls/context.ts";

/** Options of one client call. */
export interface CallOptions {
  /** Cancels the call, also on the server. */
  signal?: AbortSignal;
  /** Time for the whole call including retries, in milliseconds. */
  timeoutMs?: number;
}

/** Handles one call. Throw a `CsiError` to choose the code. */
export type UnaryHandler<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  context: CallContext,
) => Promise<MessageInitShape<O>> | MessageInitShape<O>;

/** Handles one call, and responds with a stream of messages. */
export type StreamHandler<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  context: CallContext,
) => AsyncIterable<MessageInitShape<O>>;

/** The handlers of a service. One that is left out returns UNIMPLEMENTED. */
export type Handlers<S extends DescService> = {
  [M in keyof S["method"]]?: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? UnaryHandler<I, O>
    : S["method"][M] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamHandler<I, O>
      : never;
};

/** The methods of a service as a client calls them. */
export type ServiceClient<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : S["method"][M] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;
};
