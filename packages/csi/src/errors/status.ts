import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { Code, toCode } from "./codes.ts";
import { CsiError } from "./csi-error.ts";
import { DETAILS, decodeDetails, encodeDetails } from "./details.ts";

// status.details stays empty, as the specification asks, unless a handler names the fields that are to blame; reason
// and hint travel as plain trailers beside it.
const REASON = "csi-reason";
const HINT = "csi-hint";

/** Longest message on the wire, in bytes: percent-encoded it must fit a trailer, or the whole stream is lost. */
const MAX_MESSAGE_BYTES = 4096;

/** Any thrown value as a `CsiError`: abort errors keep their meaning, all others become INTERNAL. */
export function toCsiError(thrown: unknown): CsiError {
  if (thrown instanceof CsiError) return thrown;
  if (thrown instanceof Error && thrown.name === "AbortError") {
    return CsiError.cancelled("the operation was cancelled", { cause: thrown });
  }
  if (thrown instanceof Error && thrown.name === "TimeoutError") {
    return CsiError.deadlineExceeded("the operation took too long", { cause: thrown });
  }
  return CsiError.internal(textOf(thrown) || "the plugin failed without a message", { cause: thrown });
}

/** The text of a thrown value. Some values cannot be made a text, and even trying throws. */
function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return "";
  }
}

/** A failed call's status as grpc-js takes it. */
export function toStatus(error: CsiError): Pick<StatusObject, "code" | "details" | "metadata"> {
  const metadata = new Metadata();
  metadata.set(REASON, printable(error.reason));
  if (error.hint !== undefined) metadata.set(HINT, encodeURIComponent(truncate(error.hint, 1024)));
  const text = error.message === "" ? error.reason : error.message;
  const details = error.hint === undefined ? text : `${text} (${error.hint})`;
  const message = truncate(details, MAX_MESSAGE_BYTES);
  if (error.violations.length > 0) {
    metadata.set(DETAILS, encodeDetails(error.code, message, error.violations));
  }
  return { code: error.code, details: message, metadata };
}

/** The error a client throws for a failed call. `thrown` is whatever grpc-js reported. */
export function fromStatus(thrown: unknown): CsiError {
  if (!isStatus(thrown)) return toCsiError(thrown);
  const reason = thrown.metadata?.get(REASON)[0]?.toString();
  const hint = thrown.metadata?.get(HINT)[0]?.toString();
  const details = thrown.metadata?.get(DETAILS)[0];
  return new CsiError(toCode(thrown.code), thrown.details, {
    ...(reason === undefined ? {} : { reason }),
    ...(hint === undefined ? {} : { hint: decode(hint) }),
    ...(Buffer.isBuffer(details) ? { violations: decodeDetails(details) } : {}),
    cause: thrown,
  });
}

function isStatus(value: unknown): value is { code: number; details: string; metadata?: Metadata } {
  if (typeof value !== "object" || value === null) return false;
  const { code, details } = value as { code?: unknown; details?: unknown };
  return typeof code === "number" && code !== Code.OK && typeof details === "string";
}

function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "_");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function truncate(text: string, bytes: number): string {
  const clean = Buffer.from(text).toString(); // drops lone surrogates
  if (Buffer.byteLength(clean) <= bytes) return clean;
  return `${new TextDecoder().decode(Buffer.from(clean).subarray(0, bytes - 3)).replace(/\ufffd+$/, "")}...`;
}
