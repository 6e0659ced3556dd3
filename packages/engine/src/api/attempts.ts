import { msLeft } from "@mooring/store";

/** How often something failed, as its status remembers it: a restart must not begin the waiting anew. */
export interface Attempts {
  /** Failures in a row. */
  failures?: number;
  /** When it failed last, RFC 3339. */
  failedAt?: string;
}

/** A job that fails this often in a row gives up, until an operator asks for it again. */
export const MOST_ATTEMPTS = 5;

const FIRST_MS = 1000;
const MOST_MS = 60_000;

/** Milliseconds until the next attempt; 0 when it may be made now. Doubles with every failure, up to a minute. */
export function untilRetry({ failures = 0, failedAt }: Attempts, now: Date): number {
  if (failures === 0 || failedAt === undefined) return 0;
  const forMs = Math.min(FIRST_MS * 2 ** (failures - 1), MOST_MS);
  return msLeft({ since: Date.parse(failedAt), forMs, now: now.getTime() });
}
