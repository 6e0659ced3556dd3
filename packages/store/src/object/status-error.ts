/** Reasons of a meta/v1 Status that callers decide on (`k8s.io/apimachinery`, StatusReason), and the one of WebDAV's 507. */
export type StatusReason =
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Invalid"
  | "BadRequest"
  | "Forbidden"
  | "Unauthorized"
  | "Expired"
  | "Gone"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "UnsupportedMediaType"
  | "RequestEntityTooLarge"
  | "TooManyRequests"
  | "Timeout"
  | "ServerTimeout"
  | "ServiceUnavailable"
  | "InternalError"
  | "InsufficientStorage"
  | "Unknown";

/** One field that is wrong, as `kubectl` prints it. */
export interface StatusCause {
  /** `FieldValueRequired`, `FieldValueInvalid`, ... */
  reason: string;
  message: string;
  /** Path from the object's root: `spec.resources.requests[storage]`. */
  field?: string;
}

/** What a Status has besides reason and message, as in `meta/v1`. */
export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** HTTP status of every reason. */
const HTTP_CODE: Readonly<Record<StatusReason, number>> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 422,
  BadRequest: 400,
  Forbidden: 403,
  Unauthorized: 401,
  Expired: 410,
  Gone: 410,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  UnsupportedMediaType: 415,
  RequestEntityTooLarge: 413,
  TooManyRequests: 429,
  Timeout: 504,
  ServerTimeout: 504,
  ServiceUnavailable: 503,
  InternalError: 500,
  InsufficientStorage: 507,
  Unknown: 500,
};

/** The one error that stores throw: a meta/v1 Status with status "Failure". */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: StatusDetails;

  constructor(
    reason: StatusReason,
    message: string,
    details: StatusDetails = {},
    code: number = HTTP_CODE[reason],
  ) {
    super(message);
    this.reason = reason;
    this.code = code;
    this.details = details;
  }

  /** The body of an API server's response. */
  toStatus(): Record<string, unknown> {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      details: this.details,
      code: this.code,
    };
  }
}

/** True when `error` is a {@link StatusError} with one of these reasons. */
export function isStatus(error: unknown, ...reasons: StatusReason[]): error is StatusError {
  return error instanceof StatusError && (reasons.length === 0 || reasons.includes(error.reason));
}
/** The object, or the kind, is not there (404). */
export const isNotFound = (error: unknown): error is StatusError => isStatus(error, "NotFound");
/** Another client has written meanwhile: read again (409). */
export const isConflict = (error: unknown): error is StatusError => isStatus(error, "Conflict");
/** The name is taken (409). */
export const isAlreadyExists = (error: unknown): error is StatusError => isStatus(error, "AlreadyExists");
/** A refusal by right (RBAC), which lasts until an administrator grants it. */
export const isForbidden = (error: unknown): error is StatusError => isStatus(error, "Forbidden");
/** Nothing new may be made in a namespace that is being deleted. */
export const isNamespaceEnding = (error: unknown): error is StatusError =>
  isForbidden(error) && (error.details.causes ?? []).some((cause) => cause.reason === "NamespaceTerminating");
/** What was to be made has a namespace that is not there, or not any more: kube-apiserver names that, not the object (404). */
export const isNamespaceGone = (error: unknown): error is StatusError =>
  isNotFound(error) && error.details.kind === "namespaces";
/** The revision to resume from is forgotten: list again (410). */
export const isExpired = (error: unknown): error is StatusError => isStatus(error, "Expired", "Gone");
