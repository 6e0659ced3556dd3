import { FileKindError } from "@mooring/store";

/** Codes carry the meaning (and the names) of gRPC's, so that `driver` can pass them on; `engine` has no gRPC. */
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

/** What the same wish can carry to be granted all the same: a place in the queue, or force over others. */
export type WayOut = "queue" | "force";

/** A failure with what to do next. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;
  /** What an operator can do about it, as one sentence. */
  readonly hint: string | undefined;

  /** For callers with a name of their own for it, such as a flag. */
  readonly wayOut: WayOut | undefined;

  constructor(
    code: EngineErrorCode,
    message: string,
    options: { hint?: string; wayOut?: WayOut; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.wayOut = options.wayOut;
  }
}

/** As it stands in `status.error`. */
export interface RecordedError {
  code: string;
  message: string;
}

/** An error as a status keeps it: code and message, and never a stack. */
export function asRecorded(error: unknown): RecordedError {
  if (error instanceof EngineError) {
    const hint = error.hint === undefined ? "" : ` (${error.hint})`;
    return { code: error.code, message: `${error.message}${hint}` };
  }
  if (error instanceof FileKindError)
    return { code: "FAILED_PRECONDITION", message: `${error.message} (${error.hint})` };
  return { code: "INTERNAL", message: error instanceof Error ? error.message : String(error) };
}
