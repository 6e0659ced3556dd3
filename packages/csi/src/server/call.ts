import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { CallContext } from "./context.ts";

/** One call on its way through the interceptors. */
export interface ServerCall {
  readonly service: DescService;
  readonly method: DescMethod;
  readonly request: Message;
  readonly context: CallContext;
}

/** The answer: one message, or a stream of them. */
export type ServerAnswer = Message | AsyncIterable<Message>;

/** Does the call, or passes it on. */
export type Invoke = (call: ServerCall) => Promise<ServerAnswer>;

/** A layer around every call: runs before, after, instead of, or around what is inside. */
export type ServerInterceptor = (next: Invoke) => Invoke;

/** The first interceptor becomes the outermost layer. */
export function chain(interceptors: readonly ServerInterceptor[], innermost: Invoke): Invoke {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), innermost);
}

/** `csi.v1.Controller/CreateVolume` */
export function fullName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}
