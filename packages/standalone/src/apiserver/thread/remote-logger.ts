import { inspect } from "node:util";
import { type Logger, StatusError } from "@mooring/store";
import type { FromThread, LoggedError, LoggedField, LoggedFields, LogLevel } from "./protocol.ts";

/** So many errors one within the other are logged as errors. */
const DEEPEST = 8;

/** A log that another thread writes. Whatever is logged, it throws nothing. */
export function remoteLogger(send: (message: FromThread) => void, bindings: LoggedFields = {}): Logger {
  const at = (level: LogLevel) => (fields: object, message: string) =>
    send({ is: "log", level, bindings, fields: sendable(fields), message });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (more) => remoteLogger(send, { ...bindings, ...sendable(more) }),
  };
}

/** Writes what came of {@link remoteLogger}. */
export function writeLog(
  logger: Logger,
  { level, bindings, fields, message }: Extract<FromThread, { is: "log" }>,
): void {
  logger[level]({ ...received(bindings), ...received(fields) }, message);
}

function sendable(fields: object, deepest = DEEPEST): LoggedFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, sendableField(value, deepest)]),
  );
}

/** Errors go as errors; of all else, what is data, or a text of it. */
function sendableField(value: unknown, deepest: number): LoggedField {
  if (value instanceof Error) return deepest === 0 ? { value: String(value) } : describe(value, deepest - 1);
  if (typeof value === "object") return { value: dataOf(value) };
  const isData = ["string", "number", "boolean", "undefined"].includes(typeof value);
  return { value: isData ? value : String(value) };
}

function dataOf(value: object | null): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return inspect(value);
  }
}

/** Copied as it is, an error would lose its name and all that it has besides. */
function describe(error: Error, deepest: number): { error: LoggedError } {
  const { name, message, stack } = error;
  const cause = "cause" in error ? { cause: sendableField(error.cause, deepest) } : {};
  return { error: { name, message, stack, ...cause, own: sendable(error, deepest) } };
}

function received(fields: LoggedFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, receivedField(field)]));
}

function receivedField(field: LoggedField): unknown {
  if (!("error" in field)) return field.value;
  const { name, message, stack, cause, own } = field.error;
  const error = name === "StatusError" ? new StatusError("Unknown", message) : new Error(message);
  const hidden = { name, stack, ...(cause === undefined ? {} : { cause: receivedField(cause) }) };
  for (const [key, value] of Object.entries(hidden))
    Object.defineProperty(error, key, { value, configurable: true, writable: true });
  return Object.assign(error, received(own));
}
