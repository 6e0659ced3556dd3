import { type Logger, pino } from "pino";
import { hasColors } from "../output/color.ts";

/** Logs go to stderr, at once: as lines for a person when that is a terminal, else as JSON. */
export async function openLogger(level: string): Promise<Logger> {
  if (process.stderr.isTTY !== true) return pino({ level }, pino.destination({ dest: 2, sync: true }));
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    ...{ destination: 2, sync: true, colorize: hasColors(process.env) },
    ...{ ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" },
  });
  return pino({ level }, stream);
}
