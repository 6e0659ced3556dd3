import { CsiError } from "../errors/csi-error.ts";
import type { Interceptor } from "../server/interceptor.ts";
import { checkMessage } from "./check-message.ts";

/** Answers INVALID_ARGUMENT, naming the field, before a handler sees a request that breaks a rule of the wire. */
export const validateRequests: Interceptor = (next) => async (call) => {
  const problem = checkMessage(call.method.input, call.request);
  if (problem !== undefined) {
    throw CsiError.invalidArgument(`${call.method.name}: ${problem}`, { reason: "CSI_INVALID_FIELD" });
  }
  return next(call);
};
