import { watch } from "node:fs";

/** At most so often, however fast a file changes. */
const INTERVAL_MS = 50;
/** A program that has the file in its memory changes it, and no watch reports that. */
const EVERY_MS = 10_000;

/**
 * Has something done after each change of a file, and now and then without one, until the returned function is called; that
 * has it done a last time. It is never done twice at the same time.
 */
export async function whileChanging(
  file: string,
  work: () => Promise<unknown>,
): Promise<() => Promise<void>> {
  let running: Promise<unknown> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const now = async () => {
    running = (running ?? Promise.resolve()).then(work).catch(() => {});
    await running;
  };
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void now();
    }, INTERVAL_MS).unref();
  };
  const watcher = watch(file, { persistent: false }, soon);
  watcher.on("error", () => watcher.close());
  const again = setInterval(soon, EVERY_MS).unref();
  await now();
  return async () => {
    watcher.close();
    clearInterval(again);
    clearTimeout(timer);
    await now();
  };
}
