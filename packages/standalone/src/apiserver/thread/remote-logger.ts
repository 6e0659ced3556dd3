import type { Logger } from "@mooring/store";
import type { FromThread, LogLevel } from "./protocol.ts";

/** A log that another thread writes. */
export function remoteLogger(send: (message: FromThread) => void, bindings: object = {}): Logger {
  const at = (level: LogLevel) => (fields: object, message: string) =>
    send({ is: "log", level, bindings, fields: sendable(fields), message });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (more) => remoteLogger(send, { ...bindings, ...more }),
  };
}

/** Errors go as they are; of all else, what is data. */
function sendable(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error || typeof value !== "object" ? value : JSON.parse(JSON.stringify(value)),
    ]),
  );
}

/** Writes what came of {@link remoteLogger}. */
export function writeLog(
  logger: Logger,
  { level, bindings, fields, message }: Extract<FromThread, { is: "log" }>,
): void {
  logger[level]({ ...bindings, ...fields }, message);
}
