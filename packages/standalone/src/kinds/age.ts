const SECOND = 1;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Two units while the second still matters, then one. */
const STEPS: readonly { below: number; unit: [number, string]; rest?: [number, string] }[] = [
  { below: 2 * MINUTE, unit: [SECOND, "s"] },
  { below: 10 * MINUTE, unit: [MINUTE, "m"], rest: [SECOND, "s"] },
  { below: 3 * HOUR, unit: [MINUTE, "m"] },
  { below: 8 * HOUR, unit: [HOUR, "h"], rest: [MINUTE, "m"] },
  { below: 2 * DAY, unit: [HOUR, "h"] },
  { below: 8 * DAY, unit: [DAY, "d"], rest: [HOUR, "h"] },
  { below: 2 * YEAR, unit: [DAY, "d"] },
  { below: 8 * YEAR, unit: [YEAR, "y"], rest: [DAY, "d"] },
  { below: Number.POSITIVE_INFINITY, unit: [YEAR, "y"] },
];

/** `119s`, `2m5s`, `3h`, `5d12h`: how kubectl prints the time since `then`, an RFC 3339 time. */
export function age(then: string | undefined, now: Date): string {
  const at = then === undefined ? Number.NaN : Date.parse(then);
  if (Number.isNaN(at)) return "<unknown>";
  const seconds = Math.floor((now.getTime() - at) / 1000);
  // A clock may be a little behind the one that wrote the time.
  if (seconds < -1) return "<invalid>";
  const elapsed = Math.max(0, seconds);
  const step = STEPS.find(({ below }) => elapsed < below);
  if (step === undefined) return "<unknown>";
  const [size, suffix] = step.unit;
  const whole = `${Math.floor(elapsed / size)}${suffix}`;
  if (step.rest === undefined) return whole;
  const [restSize, restSuffix] = step.rest;
  const rest = Math.floor((elapsed % size) / restSize);
  return rest === 0 ? whole : `${whole}${rest}${restSuffix}`;
}
