/**
 * Milliseconds until `forMs` have passed since a time on record. Clocks of two machines differ a little, which lengthens the
 * wait to twice as long at most. A time that lies further ahead is of a clock that has been set back since: nobody
 * waits for it to come again.
 */
export function msLeft({ since, forMs, now }: { since: number; forMs: number; now: number }): number {
  const left = since + forMs - now;
  return left > 2 * forMs ? 0 : Math.max(0, left);
}
