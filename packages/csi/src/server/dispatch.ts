import { create, type DescMethod, type DescService, type Message } from "@bufbuild/protobuf";
import { CsiError } from "../errors/csi-error.ts";
import { fullName, type Invoke } from "./call.ts";
import type { CallContext } from "./context.ts";

type AnyHandler = (request: Message, context: CallContext) => unknown;

/** The innermost step: finds the handler of a call and turns what it returns into messages. */
export function dispatch(handlers: ReadonlyMap<DescService, object>): Invoke {
  return async ({ service, method, request, context }) => {
    const own = handlers.get(service);
    const handler = own === undefined ? undefined : Reflect.get(own, method.localName);
    if (typeof handler !== "function") throw notImplemented(method);
    const answer = (handler as AnyHandler).call(own, request, context);
    if (method.methodKind === "server_streaming") return asMessages(method, answer as AsyncIterable<object>);
    return create(method.output, (await answer) as object) as Message;
  };
}

async function* asMessages(method: DescMethod, answers: AsyncIterable<object>): AsyncIterable<Message> {
  for await (const answer of answers) yield create(method.output, answer) as Message;
}

function notImplemented(method: DescMethod): CsiError {
  return CsiError.unimplemented(`this plugin does not implement ${fullName(method)}`, {
    hint: "ask for its capabilities to see what it does",
  });
}
