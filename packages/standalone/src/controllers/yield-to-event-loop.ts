import { setImmediate as nextTurn } from "node:timers/promises";

/** How long work may go on before everybody else gets a turn. */
const TURN_MS = 10;

/**
 * Decisions that need no I/O follow each other without a pause; ten thousand of them after a start would keep requests
 * waiting. Await the returned function in each: it lets others go first when their turn has come.
 */
export function yieldToEventLoop(): () => Promise<void> | undefined {
  let begun = performance.now();
  let pause: Promise<void> | undefined;
  return () => {
    if (performance.now() - begun < TURN_MS) return undefined;
    pause ??= nextTurn().then(() => {
      begun = performance.now();
      pause = undefined;
    });
    return pause;
  };
}
