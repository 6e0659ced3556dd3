import { Code, CsiError, NOTHING_MADE } from "@mooring/csi";
import { EngineError } from "@mooring/engine";
import { defined, isStatus, type StatusReason } from "@mooring/store";

/** The error of an engine object or an engine call, as the CSI error it is. */
export function fromEngine(error: { code: string; message: string; hint?: string | undefined }): CsiError {
  const code = Object.hasOwn(Code, error.code) ? Code[error.code as keyof typeof Code] : Code.INTERNAL;
  return new CsiError(code, error.message, defined({ hint: error.hint }));
}

/** A failed create call of which nothing is left, neither an object nor work that goes on: callers may read that. */
export function nothingMade({ code, message, hint }: CsiError): CsiError {
  return new CsiError(code, message, { reason: NOTHING_MADE, ...defined({ hint }) });
}

/** Store failures that a caller may meet; everything else about objects is this driver's own business. */
const STORE_CODES: Partial<Record<StatusReason, Code>> = {
  Conflict: Code.ABORTED,
  AlreadyExists: Code.ABORTED,
  NotFound: Code.NOT_FOUND,
  TooManyRequests: Code.UNAVAILABLE,
  Timeout: Code.UNAVAILABLE,
  ServerTimeout: Code.UNAVAILABLE,
  ServiceUnavailable: Code.UNAVAILABLE,
  // Of the state, and not of a pool: the same call succeeds once there is room.
  InsufficientStorage: Code.UNAVAILABLE,
  // Says nothing of the request: with its rights back the driver may find that the work is done.
  Forbidden: Code.UNAVAILABLE,
  Unauthorized: Code.UNAVAILABLE,
};

/** The one place where failures of other layers become CSI errors. Aborts stay as they are: the server knows why. */
export function toCsiError(error: unknown): unknown {
  if (error instanceof CsiError) return error;
  if (error instanceof EngineError) return fromEngine(error);
  if (isStatus(error))
    return new CsiError(STORE_CODES[error.reason] ?? Code.INTERNAL, error.message, { cause: error });
  return error;
}

/** The code of a failed system call, as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
