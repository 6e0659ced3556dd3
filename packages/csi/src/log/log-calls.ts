import { toCsiError } from "../errors/status.ts";
import type { Interceptor } from "../server/interceptor.ts";
import { redact } from "./redact.ts";

/** Called after every call; a place for metrics. `code` is gRPC's name, `OK` included. */
export type Observe = (call: { method: string; code: string; milliseconds: number }) => void;

/** One line a call: debug when it went well, info when not; never a secret. */
export function logCalls(observe?: Observe): Interceptor {
  return (next) => async (call) => {
    const { context, method, request } = call;
    const start = performance.now();
    const finish = (code: string): number => {
      const milliseconds = Math.round((performance.now() - start) * 10) / 10;
      observe?.({ method: context.method, code, milliseconds });
      return milliseconds;
    };
    try {
      const answer = await next(call);
      const milliseconds = finish("OK");
      context.logger.debug({ request: redact(method.input, request), milliseconds }, "answered");
      return answer;
    } catch (thrown) {
      const error = toCsiError(thrown);
      const fields = {
        request: redact(method.input, request),
        milliseconds: finish(error.codeName),
        code: error.codeName,
      };
      if (error.codeName === "INTERNAL")
        context.logger.error({ ...fields, err: error.cause ?? error }, error.message);
      else context.logger.info(fields, error.message);
      throw error;
    }
  };
}
