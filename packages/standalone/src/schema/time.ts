/** Go's layouts of meta/v1 Time and MicroTime, which its messages name. */
const LAYOUTS = {
  seconds: "2006-01-02T15:04:05Z07:00",
  micros: "2006-01-02T15:04:05.000000Z07:00",
} as const;

interface Element {
  /** How the layout writes it, as in "cannot parse "t10:00:00Z" as "T"". */
  layout: string;
  pattern: RegExp;
  /** What it is called in "hour out of range", and from where to where it may be. Days are checked with their month. */
  range?: readonly [name: string, from: number, to: number];
}

const literal = (layout: string): Element => ({ layout, pattern: new RegExp(`^${layout}`) });
const ZONE: Element = { layout: "Z07:00", pattern: /^(?:Z|[+-]\d{2}:\d{2})/ };
const ELEMENTS: readonly Element[] = [
  { layout: "2006", pattern: /^\d{4}/ },
  literal("-"),
  { layout: "01", pattern: /^\d{2}/, range: ["month", 1, 12] },
  literal("-"),
  { layout: "02", pattern: /^\d{2}/ },
  literal("T"),
  { layout: "15", pattern: /^\d{1,2}/, range: ["hour", 0, 23] },
  literal(":"),
  { layout: "04", pattern: /^\d{2}/, range: ["minute", 0, 59] },
  literal(":"),
  { layout: "05", pattern: /^\d{2}/, range: ["second", 0, 59] },
];

/** A text is no time; the message is that of Go's `time.Parse`, which API servers pass on. */
class TimeError extends Error {
  override readonly name = "TimeError";
}

/**
 * A time as Kubernetes reads it, and in the form in which it is stored: in UTC, in whole seconds, or in microseconds, of which
 * a text has to have all six digits. Returns the reason where the text is no such time, as 30 February is none.
 */
export function readTime(text: string, unit: keyof typeof LAYOUTS): { time: string } | { problem: string } {
  try {
    return { time: parse(text, unit) };
  } catch (error) {
    if (error instanceof TimeError) return { problem: error.message };
    throw error;
  }
}

function parse(text: string, unit: keyof typeof LAYOUTS): string {
  const fail = (why: string): never => {
    throw new TimeError(`parsing time ${JSON.stringify(text)}${why}`);
  };
  let rest = text;
  const take = ({ layout, pattern, range }: Element): string => {
    const found = pattern.exec(rest)?.[0];
    if (found === undefined)
      return fail(
        ` as "${LAYOUTS[unit]}": cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(layout)}`,
      );
    const [name, from, to] = range ?? ["", 0, Number.POSITIVE_INFINITY];
    if (Number(found) < from || Number(found) > to) fail(`: ${name} out of range`);
    rest = rest.slice(found.length);
    return found;
  };
  const fields = ELEMENTS.map(take).filter((_, index) => index % 2 === 0);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = fields.map(Number);
  const fraction =
    unit === "micros"
      ? take({ layout: ".000000", pattern: /^[.,]\d{6}/ })
      : (/^[.,]\d+/.exec(rest)?.[0] ?? "");
  if (unit === "seconds") rest = rest.slice(fraction.length);
  const offset = minutesOf(take(ZONE), fail);
  if (rest !== "") fail(`: extra text: ${JSON.stringify(rest)}`);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCDate() !== day) fail(": day out of range");
  date.setUTCHours(hour, minute - offset, second);
  // The first and last hours of all years that have four digits, seen from another zone.
  if (date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999) fail(": year out of range");
  const whole = date.toISOString().slice(0, 19);
  return unit === "micros" ? `${whole}.${fraction.slice(1)}Z` : `${whole}Z`;
}

/** How many minutes a zone is ahead of UTC. */
function minutesOf(zone: string, fail: (why: string) => never): number {
  if (zone === "Z") return 0;
  const [hours = 0, minutes = 0] = zone.slice(1).split(":").map(Number);
  // Go lets 24 hours and 60 minutes pass, as some write them.
  if (hours > 24) fail(": time zone offset hour out of range");
  if (minutes > 60) fail(": time zone offset minute out of range");
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** True for a day of the calendar, as the format `date` has it: `2026-02-28`, and no 30 February. */
export function isDate(text: string): boolean {
  return "time" in readTime(`${text}T00:00:00Z`, "seconds");
}

/** As the rules of custom resources read the format `date-time`: in either case, with a zone whose size does not matter. */
const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d{2}:\d{2})$/;

/** True for a time of the calendar, as the format `date-time` has it in a CustomResourceDefinition. */
export function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  return isDate(date) && TIME_OF_DAY.test(time);
}
