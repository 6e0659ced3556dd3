import type { KubeObject } from "../object/meta.ts";
import { isConflict } from "../object/status-error.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { allowManyListeners } from "../runtime/wait.ts";
import type { Informer } from "./informer.ts";
import { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

export interface ReconcileContext {
  /** Aborts when the controller is to stop. */
  signal: AbortSignal;
  logger: Logger;
}

/** Asks for one more look after the time, without any event. */
export interface ReconcileResult {
  requeueAfterMs?: number;
}

/** Objects that a controller follows, and the keys of work that a change of one of them means. */
export interface ControllerSource<T extends KubeObject = KubeObject> {
  informer: Informer<T>;
  keys(object: T): string[];
}

export interface ControllerOptions {
  name: string;
  /** Their informers must be running. Build entries of several kinds with {@link source}. */
  sources: readonly ControllerSource[];
  /** Throws to be called again with back-off. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconciler that has nothing to ask for just ends
  reconcile(key: string, context: ReconcileContext): Promise<ReconcileResult | void>;
  /** Keys worked on at the same time; default 4. Never the same key twice. */
  concurrency?: number;
  logger?: Logger;
  backoff?: WorkQueueOptions;
  /** The queue to use, for those who add keys of their own or show its length. */
  queue?: WorkQueue;
}

/** A source of one kind, for a list of several kinds. */
export function source<T extends KubeObject>(
  informer: Informer<T>,
  keys: (object: T) => string[],
): ControllerSource {
  // Sound: `keys` is only ever given objects of this informer.
  return { informer, keys } as unknown as ControllerSource;
}

/** Reconciles every key once all informers are synced, then on every change. Resolves when the last work has ended. */
export async function runController(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const logger = (options.logger ?? silentLogger).child({ controller: options.name });
  const queue = options.queue ?? new WorkQueue(options.backoff);
  const close = () => queue.close();
  allowManyListeners(signal);
  signal.addEventListener("abort", close, { once: true });
  const unfollow = options.sources.map((each) => follow(each, queue, logger));
  try {
    await Promise.all(options.sources.map(({ informer }) => informer.synced(signal)));
    for (const each of options.sources) {
      for (const object of each.informer.list()) enqueue(each, object, queue, logger);
    }
    const workers = Array.from({ length: options.concurrency ?? 4 }, () =>
      work(options, queue, logger, signal),
    );
    await Promise.all(workers);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const stop of unfollow) stop();
    signal.removeEventListener("abort", close);
    close();
  }
}

function follow(each: ControllerSource, queue: WorkQueue, logger: Logger): () => void {
  return each.informer.onChange((old, current) => {
    if (old !== undefined) enqueue(each, old, queue, logger);
    if (current !== undefined) enqueue(each, current, queue, logger);
  });
}

function enqueue({ keys }: ControllerSource, object: KubeObject, queue: WorkQueue, logger: Logger): void {
  try {
    for (const key of keys(object)) queue.add(key);
  } catch (error) {
    logger.error({ err: error, name: object.metadata.name }, "cannot tell what a change means");
  }
}

async function work(
  options: ControllerOptions,
  queue: WorkQueue,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const key = await queue.take();
    if (key === undefined || signal.aborted) return;
    try {
      const result = await options.reconcile(key, { signal, logger: logger.child({ key }) });
      queue.forget(key);
      if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
    } catch (error) {
      if (!signal.aborted) failed(key, error, queue, logger);
    } finally {
      queue.done(key);
    }
  }
}

function failed(key: string, error: unknown, queue: WorkQueue, logger: Logger): void {
  const retryMs = Math.round(queue.retry(key));
  const fields = { key, err: error, failures: queue.failures(key), retryMs };
  // Somebody else was faster: the next look sees what they wrote.
  if (isConflict(error)) logger.debug(fields, "the object changed meanwhile");
  else logger.warn(fields, "reconciliation failed; trying again");
}
