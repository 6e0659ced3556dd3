import { type StatusDetails, StatusError, type StatusReason } from "../object/status-error.ts";
import type { ClusterAccess } from "./access.ts";
import { dropNulls } from "./decode.ts";

/** Reason of a response that brought no Status of its own (a proxy's, for instance). */
const REASON: Readonly<Record<number, StatusReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
  507: "InsufficientStorage",
};

/** The error that a failed response stands for. */
export function statusFrom(code: number, body: string): StatusError {
  let status: unknown;
  try {
    status = JSON.parse(body);
  } catch {
    // Not from an API server; the code alone has to do.
  }
  return isStatusObject(status)
    ? statusFromObject(status, code)
    : new StatusError(
        REASON[code] ?? "Unknown",
        `the server responded with ${code}: ${body.slice(0, 500)}`,
        {},
        code,
      );
}

interface StatusObject {
  kind: "Status";
  status?: unknown;
  reason?: unknown;
  message?: unknown;
  code?: unknown;
  details?: unknown;
}

/** True when a response's body is a `Status`, which has more than the HTTP code does. */
export function isStatusObject(value: unknown): value is StatusObject {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "Status";
}

/**
 * A meta/v1 Status as an error; `code` counts where the Status has none, or one that is no code of an error. What else has not
 * the type of its field is taken as absent: who sent it may be no API server.
 */
export function statusFromObject(status: StatusObject, code = 500): StatusError {
  dropNulls({ status });
  const { reason, message, details } = status;
  const number = isErrorCode(status.code) ? status.code : code;
  return new StatusError(
    // Reasons are an open set; one that we do not know is kept, callers compare strings.
    isText(reason) && reason !== "" ? (reason as StatusReason) : (REASON[number] ?? "Unknown"),
    isText(message) ? message : `the server responded with ${number}`,
    typeof details === "object" && details !== null && !Array.isArray(details)
      ? (details as StatusDetails)
      : {},
    number,
  );
}

const isText = (value: unknown): value is string => typeof value === "string";

function isErrorCode(code: unknown): code is number {
  return typeof code === "number" && Number.isInteger(code) && code >= 400 && code < 600;
}

/** The server could not be reached, or stopped talking: trying again may help. Names the server, and what led there. */
export function networkError(error: unknown, access?: ClusterAccess): StatusError {
  if (error instanceof StatusError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const from = access?.source === undefined ? "" : ` of ${access.source}`;
  const where = access === undefined ? "" : ` ${access.server}${from}`;
  const failure = new StatusError(
    "ServiceUnavailable",
    `cannot talk to the API server${where}: ${message || code || "unknown"}`,
  );
  failure.cause = error;
  return failure;
}

/** What came as a success has no object in it. */
export function noObject(text: string, access?: ClusterAccess): StatusError {
  return networkError(new Error(`its response is no object: ${text.slice(0, 100)}`), access);
}
