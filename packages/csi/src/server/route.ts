import { create, type DescMethod, type DescService, type Message } from "@bufbuild/protobuf";
import type { CallContext } from "../calls/context.ts";
import { type CallResponse, fullName, type Next } from "../calls/interceptor.ts";
import { CsiError } from "../errors/csi-error.ts";
import type { AnyHandlers } from "../wire/handlers.ts";

type AnyHandler = (request: Message, context: CallContext) => unknown;
type Init = Record<string, unknown>;

/** The innermost step: finds the handler of a call, and turns what it returns into messages. */
export function route(served: ReadonlyMap<DescService, AnyHandlers>): Next {
  return async ({ method, request, context }): Promise<CallResponse> => {
    const handlers = served.get(method.parent);
    const handler = handlers?.[method.localName];
    if (typeof handler !== "function") throw notImplemented(method);
    const response = (handler as AnyHandler).call(handlers, request, context);
    if (method.methodKind === "server_streaming") return messages(method, response as AsyncIterable<Init>);
    return responseMessage(method, (await response) as Init);
  };
}

/** Whether there is a handler that `route` finds. */
export function hasHandler(served: ReadonlyMap<DescService, AnyHandlers>, method: DescMethod): boolean {
  return typeof served.get(method.parent)?.[method.localName] === "function";
}

async function* messages(method: DescMethod, inits: AsyncIterable<Init>): AsyncIterable<Message> {
  for await (const init of inits) yield responseMessage(method, init);
}

function responseMessage(method: DescMethod, init: Init): Message {
  if (typeof init === "object" && init !== null) return create(method.output, init);
  throw CsiError.internal(`${fullName(method)} did not return a ${method.output.typeName}`, {
    reason: "CSI_RESPONSE_MALFORMED",
  });
}

/** The response of a method that has no handler. */
export function notImplemented(method: DescMethod): CsiError {
  return CsiError.unimplemented(`${fullName(method)} is not implemented by this plugin`, {
    hint: "its capabilities say what it does",
  });
}
