/**
 * Requests under way at the same time: a hundred one after the other take too long, all at once leave other users of the
 * server no turn.
 */
const AT_ONCE = 8;

/**
 * Runs `run` for all items, which do not depend on each other, `atOnce` of them at a time, also after one has failed.
 * Throws the first failure when all have ended.
 */
export async function allInParallel<T>(
  items: readonly T[],
  run: (item: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  const failures: unknown[] = [];
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await run(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
