import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { CallContext } from "./context.ts";

/** One call on its way to its handler. */
export interface Call {
  readonly method: DescMethod;
  readonly request: Message;
  readonly context: CallContext;
}

/** One message, or for a streaming method as many as there are. */
export type CallResponse = Message | AsyncIterable<Message>;

/** What comes after an interceptor: the next one, or the handler itself. */
export type Next = (call: Call) => Promise<CallResponse>;

/** Wraps all calls: `(next) => async (call) => next(call)`. The first in a list is the outermost. */
export type Interceptor = (next: Next) => Next;

/** One function out of a list of interceptors and the handler that they lead to. */
export function compose(interceptors: readonly Interceptor[], handler: Next): Next {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), handler);
}

/** Whether a response is a stream. */
export function isStream(response: CallResponse): response is AsyncIterable<Message> {
  return Symbol.asyncIterator in response;
}

/** `csi.v1.Controller/CreateVolume` */
export function fullName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}
