import { defined, isStatus } from "@mooring/store";
import { EngineError, type EngineErrorCode } from "../../errors.ts";
import { BlockedByTickets } from "../blocked.ts";
import type { ErrorResource } from "./resources.ts";
import { ticketResource } from "./volume-resource.ts";

/** HTTP status and JSON body. */
export interface RestResponse {
  status: number;
  body: object;
}

/** HTTP status of the codes that clients meet; all others are 500. */
const STATUS: Partial<Record<EngineErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  FAILED_PRECONDITION: 409,
  ABORTED: 409,
  UNAVAILABLE: 503,
};

const REASON: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  422: "Unprocessable Entity",
  500: "Server Error",
  503: "Service Unavailable",
};

type More = Pick<ErrorResource, "reason" | "detail" | "blockedBy">;

/** An error in the form that clients of this API expect. */
export function failure(status: number, message: string, more: More = {}): RestResponse {
  const body: ErrorResource = { type: "error", status, code: REASON[status] ?? "Error", message, ...more };
  return { status, body };
}

/** A failure as a response; an error that we did not foresee is thrown on, for the server to log. */
export function responseTo(error: unknown): RestResponse {
  if (error instanceof EngineError) {
    const blocking =
      error instanceof BlockedByTickets ? error.tickets.map((t) => ticketResource(t, undefined)) : undefined;
    return failure(STATUS[error.code] ?? 500, error.message, {
      reason: error.code,
      ...defined({ detail: error.hint, blockedBy: blocking }),
    });
  }
  if (isStatus(error)) return failure(error.code, error.message, { reason: error.reason });
  throw error;
}
