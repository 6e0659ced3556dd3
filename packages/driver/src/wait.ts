import { CsiError } from "@mooring/csi";
import { type KubeObject, type ObjectStore, type Resource, waitFor } from "@mooring/store";

interface Wait<T> {
  /** What is waited for, as the end of "gave up waiting for ...". */
  what: string;
  until(object: T | undefined): boolean;
  /** The object's own explanation, for the error message. */
  describe?(object: T | undefined): string;
  /** Asked again and again while nothing comes of it: throws when waiting is of no use before an operator does something. */
  giveUp?(): Promise<void>;
  /** Called as often: true when all is done, though the object does not show it. */
  isDone?(): Promise<boolean>;
}

/** Long enough for what passes by itself, such as a mount that another process still has a copy of. */
const PATIENCE_MS = 5_000;

/**
 * Waits for an object's state as long as the caller does. When the caller gives up, the error reports how far things
 * were; the work itself goes on, and the next call finds its result.
 */
export async function waitUntil<T extends KubeObject>(
  store: ObjectStore,
  { resource, name }: { resource: Resource<T>; name: string },
  wait: Wait<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  let last: T | undefined;
  const until = (object: T | undefined) => {
    last = object;
    return wait.until(object);
  };
  for (;;) {
    const polls = wait.giveUp !== undefined || wait.isDone !== undefined;
    const round = limited(signal, polls ? PATIENCE_MS : undefined);
    try {
      return await waitFor(store, { resource, key: { name } }, until, round.signal);
    } catch (error) {
      if (signal.aborted) throw gaveUp(wait.what, wait.describe?.(last) ?? "", error);
      if (!round.signal.aborted) throw error;
      if ((await wait.isDone?.()) === true) return last;
      await wait.giveUp?.();
    } finally {
      round.end();
    }
  }
}

function gaveUp(what: string, state: string, cause: unknown): CsiError {
  return CsiError.deadlineExceeded(`gave up waiting for ${what}${state === "" ? "" : `: ${state}`}`, {
    hint: "Repeat the call: it goes on where this one stopped.",
    cause,
  });
}

/** A signal that also aborts after so many milliseconds; `end` releases both. */
function limited(signal: AbortSignal, milliseconds: number | undefined) {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const timer = milliseconds === undefined ? undefined : setTimeout(() => controller.abort(), milliseconds);
  const end = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  };
  return { signal: controller.signal, end };
}
