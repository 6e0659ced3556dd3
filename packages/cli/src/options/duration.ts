import { InvalidArgumentError, Option } from "commander";

/** Milliseconds. */
const UNITS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time as milliseconds: `15` and `15s`, `5m`, `2h`, `1d`. */
const upTo =
  (days: number) =>
  (text: string): number => {
    const [, amount = "", unit = ""] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
    const milliseconds = Number(amount) * (UNITS[unit] ?? 0);
    if (milliseconds > 0 && milliseconds <= days * 86_400_000) return milliseconds;
    throw new InvalidArgumentError(`write it like 30m (15 or 15s, 5m, 2h, 1d), at most ${days}d`);
  };

/** How long something is waited for: timers end at 24.8 days, longer ones at once. */
export const duration = upTo(24);

/** How long an operator may keep something. */
export const term = upTo(3650);

/** `--timeout`; `fallback` as an operator writes it. */
export function timeoutOption(fallback: string): Option {
  return new Option("--timeout <time>", "how long to wait")
    .argParser(duration)
    .default(duration(fallback), fallback);
}
