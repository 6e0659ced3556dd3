import { type Logger, pino } from "pino";
import { hasColors } from "../output/color.ts";
import { logLine } from "./log-line.ts";

/** What waits for room while the log cannot be written, on a full disk say; what is more is lost. */
const MOST_WAITING = 1024 ** 2;

/**
 * Logs go to stderr, at once: one line a message when that is a terminal, else as JSON. A log that cannot be
 * written keeps no part from its work.
 */
export async function openLogger(level: string): Promise<Logger> {
  if (process.stderr.isTTY !== true) {
    const destination = pino.destination({ dest: 2, sync: true, maxLength: MOST_WAITING });
    destination.on("error", () => {});
    return pino({ level }, destination);
  }
  const { default: pretty } = await import("pino-pretty");
  const colors = hasColors(process.env);
  const stream = pretty({
    ...{ destination: 2, sync: true, colorize: colors, translateTime: "SYS:HH:MM:ss.l" },
    ...{ hideObject: true, ignore: "pid,hostname", messageFormat: (entry) => logLine(entry, { colors }) },
  });
  stream.on("error", () => {});
  return pino({ level }, stream);
}
