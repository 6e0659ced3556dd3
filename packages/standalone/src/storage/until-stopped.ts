/** Resolves when the signal aborts; rejects when a part fails. */
export function untilStopped(signal: AbortSignal, failed: Promise<never>): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return Promise.race([stopped, failed]);
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
