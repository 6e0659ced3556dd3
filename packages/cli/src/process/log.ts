import { Option } from "commander";
import { type Logger, pino } from "pino";

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option("--log-level <level>", "least level that is logged")
    .choices(["debug", "info", "warn", "error"])
    .default("info");
}

/** Logs go to stderr, at once. */
export function openLogger(level: string): Logger {
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}
