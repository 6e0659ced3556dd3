import assert from "node:assert/strict";
import type { Harness } from "./harness.ts";

/** When a method was called, in milliseconds, from now on. `of`: only these calls. */
export function timesOf(
  { driver }: Pick<Harness, "driver">,
  method: string,
  of: (request: object) => boolean = () => true,
): number[] {
  const times: number[] = [];
  driver.faults.add({
    method,
    times: Number.POSITIVE_INFINITY,
    when: (request) => {
      if (of(request)) times.push(performance.now());
      return false;
    },
  });
  return times;
}

/** Each delay is at least twice as long as the one before it, but for what a timer is early. `callMs`: how long each call took. */
export function assertGrowing(times: readonly number[], startMs: number, callMs = 0): void {
  const intervals = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  for (const [index, interval] of intervals.entries()) {
    const least = callMs + startMs * 2 ** index - 3;
    assert.ok(interval >= least, `delays of ${intervals.map(Math.round).join(", ")} ms`);
  }
}
