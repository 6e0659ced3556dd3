import { setMaxListeners } from "node:events";
import type { ServerUnaryCall, ServerWritableStream } from "@grpc/grpc-js";
import type { CallContext } from "../calls/context.ts";
import type { Logger } from "../log/logger.ts";

type AnyCall = ServerUnaryCall<Uint8Array, Uint8Array> | ServerWritableStream<Uint8Array, Uint8Array>;

let counter = 0;

/** The context of one call; its signal follows the client's cancellation, deadline and connection. */
export function contextOf(call: AnyCall, method: string, logger: Logger): CallContext {
  const controller = new AbortController();
  // A call for a group waits for all of its members at a time.
  setMaxListeners(0, controller.signal);
  const until = call.getDeadline();
  const milliseconds = until instanceof Date ? until.getTime() : until;
  call.on("cancelled", () => {
    const late = Number.isFinite(milliseconds) && Date.now() >= milliseconds;
    const name = late ? "TimeoutError" : "AbortError";
    controller.abort(new DOMException(late ? "the deadline has passed" : "the client has cancelled", name));
  });
  counter += 1;
  const requestId = counter.toString(36);
  return {
    signal: controller.signal,
    deadline: Number.isFinite(milliseconds) ? new Date(milliseconds) : undefined,
    requestId,
    method,
    logger: logger.child({ requestId, method }),
  };
}
