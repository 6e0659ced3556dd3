/**
 * All that is done in slices takes the event loop for so long at a time: once for those that begin with what has come in, and
 * once for those that wait.
 */
const SLICE_MS = 8;

/** When the slices of this turn are over; undefined: none has begun. */
let deadline: number | undefined;
let scheduled = false;
const waiting: (() => void)[] = [];

/** There is time left in this turn, for all slices of the thread together. True once at least after {@link nextSlice}. */
export function sliceLasts(): boolean {
  const now = performance.now();
  if (deadline === undefined) {
    deadline = now + SLICE_MS;
    schedule();
  }
  return now < deadline;
}

/** Lets others run: resolves in another turn, after those that have waited for longer. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(() => {
    scheduled = false;
    deadline = undefined;
    wakeFirst(waiting.length);
  });
}

/** Wakes those that wait now, one when the one before has paused, as long as there is time. */
function wakeFirst(left: number): void {
  if (left === 0) return;
  if (!sliceLasts()) {
    schedule();
    return;
  }
  waiting.shift()?.();
  // What it does until it pauses is all in microtasks, and the next tick comes after them.
  queueMicrotask(() => process.nextTick(wakeFirst, left - 1));
}
