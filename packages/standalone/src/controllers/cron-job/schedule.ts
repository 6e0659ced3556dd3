import { type CronJob, defined } from "@mooring/store";
import { Cron } from "croner";
import { SCHEDULE_SYNTAX } from "../../builtin/schedule-syntax.ts";

/** More missed starts than these are not counted: only the last one is made up for. */
export const MOST_MISSED = 100;

/** Where a schedule stands. Times are milliseconds since the epoch. */
export interface Due {
  /** The last time that is due and not earlier than `since`; absent: none is. */
  scheduledMs?: number;
  /** The next one; absent: there is none any more. */
  nextMs?: number;
  tooManyMissed: boolean;
  /** The clock was put back to before times that were dealt with: none after this one counts as dealt with any more. */
  putBackToMs?: number;
}

/** What is due of a schedule after `sinceMs` and until `nowMs`. Throws when the schedule cannot be read. */
export function dueOf(spec: NonNullable<CronJob["spec"]>, sinceMs: number, nowMs: number): Due {
  const cron = new Cron(spec.schedule, {
    ...{ paused: true, ...SCHEDULE_SYNTAX },
    ...defined({ timezone: spec.timeZone }),
  });
  const after = (ms: number) => cron.nextRun(new Date(ms))?.getTime();
  const nextMs = after(nowMs);
  const next = defined({ nextMs });
  // Back by less than to the time before: that one is not to come a second time.
  if (nextMs !== undefined && sinceMs > nextMs) {
    const putBackToMs = cron.previousRuns(1, new Date(nowMs + 1))[0]?.getTime() ?? nowMs;
    return { ...next, putBackToMs, tooManyMissed: false };
  }
  let missed = 0;
  let at = after(sinceMs);
  for (; at !== undefined && at <= nowMs && missed <= MOST_MISSED; at = after(at)) missed += 1;
  if (missed === 0) return { ...next, tooManyMissed: false };
  const last = cron.previousRuns(1, new Date(nowMs + 1))[0]?.getTime();
  return { ...next, ...defined({ scheduledMs: last }), tooManyMissed: missed > MOST_MISSED };
}

/** RFC 3339 in the time zone of the schedule; in UTC when it has none. */
export function inTimeZone(ms: number, timeZone: string | undefined): string {
  const utc = new Date(ms).toISOString().slice(0, 19);
  if (timeZone === undefined) return `${utc}Z`;
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const zone = format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const offset = /([+-])(\d\d):(\d\d)/.exec(zone);
  if (offset === null || offset[0] === "+00:00") return `${utc}Z`;
  const [text, sign, hours, minutes] = offset;
  const shiftMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  return `${new Date(ms + shiftMs).toISOString().slice(0, 19)}${text}`;
}
