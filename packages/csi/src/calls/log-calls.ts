import type { Message } from "@bufbuild/protobuf";
import { toCsiError } from "../errors/status.ts";
import { redact } from "../log/redact.ts";
import { type Call, type Interceptor, isStream } from "./interceptor.ts";

/** One line a call: debug when it went well, info when not, error for the plugin's own faults; never a secret. */
export const logCalls: Interceptor = (next) => async (call) => {
  const start = performance.now();
  const finish = (thrown?: unknown): void => report(call, start, thrown);
  try {
    const response = await next(call);
    if (isStream(response)) return reported(response, finish);
    finish();
    return response;
  } catch (thrown) {
    finish(thrown ?? new Error("nothing was thrown"));
    throw thrown;
  }
};

function report({ context, method, request }: Call, start: number, thrown: unknown): void {
  const milliseconds = Math.round((performance.now() - start) * 10) / 10;
  const fields = {
    // Worked out only when a line is written: most loggers take no debug lines.
    get request() {
      return redact(method.input, request);
    },
    milliseconds,
  };
  const error = thrown === undefined ? undefined : toCsiError(thrown);
  const code = error?.codeName;
  if (error === undefined) context.logger.debug(fields, "returned");
  else if (code === "INTERNAL" || code === "UNKNOWN")
    context.logger.error({ ...fields, code, err: error.cause ?? error }, error.message);
  else context.logger.info({ ...fields, code, reason: error.reason }, error.message);
}

/** A stream is over when its last message is taken, or when the caller leaves. */
async function* reported(
  messages: AsyncIterable<Message>,
  finish: (thrown?: unknown) => void,
): AsyncIterable<Message> {
  let failure: unknown;
  try {
    yield* messages;
  } catch (thrown) {
    failure = thrown ?? new Error("nothing was thrown");
    throw thrown;
  } finally {
    finish(failure);
  }
}
