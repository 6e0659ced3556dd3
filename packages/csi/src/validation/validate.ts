import { reflect } from "@bufbuild/protobuf/reflect";
import type { Call, Interceptor } from "../calls/interceptor.ts";
import { CsiError } from "../errors/csi-error.ts";
import { checkMessage } from "./check-message.ts";
import { OFFSETS } from "./rules.ts";

function negativeOffset({ method, request }: Call): string | undefined {
  const field = method.input.fields.find(({ name }) => OFFSETS.has(name));
  if (field === undefined) return undefined;
  const value = reflect(method.input, request).get(field) as bigint;
  return value < 0n ? `${field.name} is negative` : undefined;
}

/**
 * Refuses with INVALID_ARGUMENT (for a negative offset OUT_OF_RANGE), naming the field, before a handler sees a request that
 * breaks a rule of the wire.
 */
export const validateRequests: Interceptor = (next) => async (call) => {
  const problem = checkMessage(call.method.input, call.request, call.context.protocol);
  if (problem !== undefined) {
    throw CsiError.invalidArgument(`${call.method.name}: ${problem}`, { reason: "CSI_INVALID_FIELD" });
  }
  const offset = negativeOffset(call);
  if (offset !== undefined) {
    throw CsiError.outOfRange(`${call.method.name}: ${offset}`, { reason: "CSI_INVALID_FIELD" });
  }
  return next(call);
};
