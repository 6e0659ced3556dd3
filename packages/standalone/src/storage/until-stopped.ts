/** Resolves when the signal aborts, at once if it has: a part may be ended while it is still being started. */
export function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Resolves when the signal aborts; rejects when a part fails. */
export function untilStopped(signal: AbortSignal, failed: Promise<never>): Promise<void> {
  return Promise.race([stopped(signal), failed]);
}

/** A promise that never resolves, and the function that makes it reject. */
export function failure(): { failed: Promise<never>; fail: (error: unknown) => void } {
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  return { failed, fail };
}
