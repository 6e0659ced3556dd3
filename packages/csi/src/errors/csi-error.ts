import { Code, type CodeName, codeName } from "./codes.ts";
import type { FieldViolation } from "./details.ts";

/**
 * A {@link CsiErrorOptions.reason} of a failed create call: the plugin has made nothing of that name, and is not making it. The code
 * alone does not always say so: after RESOURCE_EXHAUSTED, which the specification asks for when space is lacking, something may be there.
 */
export const NOTHING_MADE = "CSI_NOTHING_MADE";

/** What a `CsiError` may carry besides its code and message. */
export interface CsiErrorOptions {
  /** A stable, machine-readable cause, `CSI_` and upper case by convention. Default: `CSI_` and the code's name. */
  reason?: string;
  /** What an operator can do about it. It is appended to the message on the wire. */
  hint?: string;
  /**
   * The fields that are to blame, each with its reason. They travel as `google.rpc.BadRequest` in
   * `grpc-status-details-bin`; csi.v1 asks for that to stay empty, so they are for services that do not.
   */
  violations?: readonly FieldViolation[];
  /** The error behind this one; it stays in this process. */
  cause?: unknown;
}

/**
 * The one error of this package: handlers throw it to choose the response's code, clients throw it for every failed
 * call. Anything else that a handler throws is returned as INTERNAL.
 *
 * @example throw CsiError.notFound(`volume ${id} does not exist`, { reason: "CSI_VOLUME_NOT_FOUND" });
 */
export class CsiError extends Error {
  override readonly name: string = "CsiError";
  /** gRPC status number, never `OK`. */
  readonly code: Code;
  readonly reason: string;
  readonly hint: string | undefined;
  readonly violations: readonly FieldViolation[];

  constructor(code: Code, message: string, options: CsiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code === Code.OK ? Code.UNKNOWN : code;
    this.reason = options.reason ?? `CSI_${codeName(this.code)}`;
    this.hint = options.hint;
    this.violations = options.violations ?? [];
  }

  /** The code's name, for example `NOT_FOUND`. */
  get codeName(): CodeName {
    return codeName(this.code);
  }

  /** The caller gave up. */
  static cancelled(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.CANCELLED, message, options);
  }
  /** Nothing better is known. */
  static unknown(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.UNKNOWN, message, options);
  }
  /** A required field is missing, or a field's value is not valid or not allowed. */
  static invalidArgument(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.INVALID_ARGUMENT, message, options);
  }
  /** The call's deadline passed; the operation may still go on. */
  static deadlineExceeded(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.DEADLINE_EXCEEDED, message, options);
  }
  /** The volume, snapshot, node or path does not exist. */
  static notFound(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.NOT_FOUND, message, options);
  }
  /** The name is taken by something with other properties. */
  static alreadyExists(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.ALREADY_EXISTS, message, options);
  }
  /** The caller may not do this. */
  static permissionDenied(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.PERMISSION_DENIED, message, options);
  }
  /** Out of space, or a limit such as volumes per node is reached. */
  static resourceExhausted(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.RESOURCE_EXHAUSTED, message, options);
  }
  /** The object's state forbids the call, for example because it is in use. */
  static failedPrecondition(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.FAILED_PRECONDITION, message, options);
  }
  /** Another operation on the same object is pending, or a page token is not valid. */
  static aborted(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.ABORTED, message, options);
  }
  /** The capacity range cannot be served. */
  static outOfRange(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.OUT_OF_RANGE, message, options);
  }
  /** The plugin does not have this call, or not in this mode. */
  static unimplemented(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.UNIMPLEMENTED, message, options);
  }
  /** A fault of the plugin itself. */
  static internal(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.INTERNAL, message, options);
  }
  /** The server does not respond, or not yet; the same call may work later. */
  static unavailable(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.UNAVAILABLE, message, options);
  }
  /** Data is lost for good. */
  static dataLoss(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.DATA_LOSS, message, options);
  }
  /** The credentials in the secrets are missing or wrong. */
  static unauthenticated(message: string, options?: CsiErrorOptions): CsiError {
    return new CsiError(Code.UNAUTHENTICATED, message, options);
  }
}
