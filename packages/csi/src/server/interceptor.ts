import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { CallContext } from "./context.ts";

/** One unary call on its way to its handler. */
export interface Call {
  readonly method: DescMethod;
  readonly request: Message;
  readonly context: CallContext;
}

/** What comes after an interceptor: the next one, or the handler itself. */
export type Next = (call: Call) => Promise<Message>;

/** Wraps all calls: `(next) => async (call) => next(call)`. The first in a list is the outermost. */
export type Interceptor = (next: Next) => Next;

/** One function out of a list of interceptors and the handler that they lead to. */
export function compose(interceptors: readonly Interceptor[], handler: Next): Next {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), handler);
}
