/** Codes carry the meaning (and the names) of gRPC's, so that `driver` can pass them on; `engine` knows no gRPC. */
export type EngineErrorCode =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "FAILED_PRECONDITION"
  | "RESOURCE_EXHAUSTED"
  | "OUT_OF_RANGE"
  | "ABORTED"
  | "UNAVAILABLE"
  | "DEADLINE_EXCEEDED"
  | "CANCELLED"
  | "DATA_LOSS"
  | "INTERNAL";

/** A failure with what to do next. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;
  /** What a person can do about it, as one sentence. */
  readonly hint: string | undefined;

  constructor(code: EngineErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}
