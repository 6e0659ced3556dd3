import type { Message } from "@bufbuild/protobuf";
import { type Call, type Interceptor, isStream } from "../calls/interceptor.ts";
import { CsiError } from "../errors/csi-error.ts";
import { checkMessage } from "./check-message.ts";

/**
 * Checks what handlers return by the rules of the wire: required fields, sizes in bytes, enum values, a plugin's name.
 * A response that breaks one is logged as a warning and sent all the same, since the work is done; with `strict` it
 * becomes INTERNAL, so that a driver's own tests fail.
 */
export function validateResponses({ strict = false }: { strict?: boolean } = {}): Interceptor {
  return (next) => async (call) => {
    const response = await next(call);
    if (isStream(response)) return checkedStream(call, response, strict);
    check(call, response, strict);
    return response;
  };
}

async function* checkedStream(
  call: Call,
  messages: AsyncIterable<Message>,
  strict: boolean,
): AsyncIterable<Message> {
  for await (const message of messages) {
    check(call, message, strict);
    yield message;
  }
}

function check({ method, context }: Call, response: Message, strict: boolean): void {
  const problem = checkMessage(method.output, response);
  if (problem === undefined) return;
  const text = `${method.name} returns what ${method.parent.file.proto.package} does not allow: ${problem}`;
  if (strict) throw CsiError.internal(text, { reason: "CSI_INVALID_RESPONSE" });
  context.logger.warn({ field: problem.split(" ", 1)[0] }, text);
}
