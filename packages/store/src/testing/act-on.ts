import type { ControllerSource } from "../controller/reconciler/source.ts";
import { WorkQueue, type WorkQueueOptions } from "../controller/work-queue.ts";
import { allowManyListeners } from "../runtime/wait.ts";

export interface ActOptions {
  sources: readonly ControllerSource[];
  /** Throws to be called again. Never twice at the same time for one key. */
  act(key: string): Promise<void>;
  backoff?: WorkQueueOptions;
}

/**
 * A played part of a test's world: acts on every object that is there and on every change. Nothing shows whether it has
 * anything left to do, so it is no controller. Resolves when the last act has ended, after the signal.
 */
export async function actOn({ sources, act, backoff }: ActOptions, signal: AbortSignal): Promise<void> {
  const queue = new WorkQueue(backoff);
  allowManyListeners(signal);
  signal.addEventListener("abort", () => queue.close(), { once: true });
  const stops = sources.map(({ informer, keys }) =>
    informer.onChange((old, current) => {
      for (const object of [old, current])
        if (object !== undefined) for (const key of keys(object)) queue.add(key);
    }),
  );
  try {
    await Promise.all(sources.map(({ informer }) => informer.synced(signal)));
    await Promise.all(Array.from({ length: 8 }, () => work(queue, act, signal)));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

async function work(queue: WorkQueue, act: ActOptions["act"], signal: AbortSignal): Promise<void> {
  for (let key = await queue.take(); key !== undefined && !signal.aborted; key = await queue.take()) {
    try {
      await act(key);
      queue.forget(key);
    } catch {
      if (!signal.aborted) queue.retry(key);
    } finally {
      queue.done(key);
    }
  }
}
