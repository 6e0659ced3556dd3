import { delay } from "@mooring/store";

/** Waits until `check` gives something other than undefined and false; throws what it threw last, or says what it waited for. */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  timeoutMs = 60_000,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline)
      throw failure ?? new Error(`did not happen within ${timeoutMs} ms: ${what}`);
    await delay(20);
  }
}
