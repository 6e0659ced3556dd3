import { defined } from "@mooring/store";
import { Cron } from "croner";
import type { RecurringJobSpec } from "../../../api/recurring-job.ts";

/** What the clock means for a job. Moments are RFC 3339. */
export interface Schedule {
  /** Why the schedule cannot be read. */
  invalid?: string;
  /** The latest moment that is not dealt with yet. */
  due?: string;
  /** How many such moments there are, `due` among them; counted up to 1,000. */
  missed: number;
  next?: string;
  /** The clock was put back to before moments that are dealt with: none after this one counts as dealt with any more. */
  putBackTo?: string;
}

const MOST_COUNTED = 1000;

/**
 * Moments after `since` (exclusive) up to `now`, in the job's time zone. Where a local time does not exist the moment
 * is moved into the hour after it; where it comes twice, its first time counts.
 */
export function scheduleOf(
  { cron, timeZone = "UTC" }: Pick<RecurringJobSpec, "cron" | "timeZone">,
  since: Date,
  now: Date,
): Schedule {
  try {
    const schedule = new Cron(cron, { timezone: timeZone, paused: true });
    let missed = 0;
    for (let at = schedule.nextRun(since); at !== null && at <= now; at = schedule.nextRun(at)) {
      missed += 1;
      if (missed === MOST_COUNTED) break;
    }
    const [latest] = missed === 0 ? [] : schedule.previousRuns(1, new Date(now.getTime() + 1));
    const next = schedule.nextRun(now);
    // Back by less than to the moment before: that one is not to come a second time.
    const isPutBack = next !== null && since > next;
    return {
      missed,
      ...(isPutBack ? { putBackTo: (schedule.previousRuns(1, now)[0] ?? now).toISOString() } : {}),
      ...defined({ due: latest?.toISOString() }),
      ...(next === null ? {} : { next: next.toISOString() }),
    };
  } catch (error) {
    return { invalid: error instanceof Error ? error.message : String(error), missed: 0 };
  }
}
