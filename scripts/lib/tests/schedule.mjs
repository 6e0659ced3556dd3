import { setTimeout as sleep } from "node:timers/promises";

/** So much of the processors may idle without one more item. */
const MAY_IDLE = 0.06;

/**
 * Runs `work` for every item, the longest first, so that those that wait long have the others run beside them. Two bounds say
 * how many run at a time:
 *
 * - as many as their costs fit into `capacity`. A cost is a guess, from the lane or from another day with other neighbours,
 *   and most are too high: files that mount and wait for disks kept 1.2 of two processors busy.
 * - so, when `idle()`, the share of all processors that had nothing to do since the last call, says that there is room, one
 *   more every `sampleMs`, up to `most`. On a machine that others use as well there is no room, and the first bound stays.
 *
 * An item of infinite cost runs alone, after all others. Spare ones (`spare`) come after those that are not, and begin as
 * long as `hasTime()`. Resolves when all have ended, or those that had begun when `signal` came.
 */
export async function schedule(items, bounds, work, signal) {
  const { capacity, most = 0, idle = async () => 0, sampleMs = 500, hasTime = () => true } = bounds;
  const bySeconds = [...items].sort((a, b) => b.seconds - a.seconds);
  let waiting = [...bySeconds.filter(({ spare }) => !spare), ...bySeconds.filter(({ spare }) => spare)];
  const running = new Set();
  let used = 0;
  const isAlone = ({ cost }) => !Number.isFinite(cost);
  const fits = (item) => !isAlone(item) && (running.size === 0 || used + item.cost <= capacity);

  const start = (item) => {
    waiting.splice(waiting.indexOf(item), 1);
    used += item.cost;
    const done = work(item).finally(() => {
      running.delete(done);
      used = running.size === 0 ? 0 : used - item.cost;
    });
    running.add(done);
  };
  const oneMore = async () => {
    const hasRoom = (await idle()) > MAY_IDLE && Number.isFinite(used) && running.size < most;
    return hasRoom && !signal.aborted ? waiting.find((item) => !isAlone(item)) : undefined;
  };

  while ((waiting.length > 0 && !signal.aborted) || running.size > 0) {
    if (!hasTime()) waiting = waiting.filter(({ spare }) => !spare);
    const fitting = signal.aborted ? undefined : waiting.find(fits);
    // A file that needs the whole machine comes last, so that no other waits for it to get empty.
    const next = fitting ?? (running.size === 0 ? waiting[0] : undefined);
    if (next !== undefined) {
      start(next);
      continue;
    }
    const pause = new AbortController();
    const sampled = sleep(sampleMs, "sampled", pause).catch(() => {});
    const isTime = (await Promise.race([...running, sampled])) === "sampled";
    pause.abort();
    const more = isTime ? await oneMore() : undefined;
    if (more !== undefined) start(more);
  }
}
