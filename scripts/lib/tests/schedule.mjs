/**
 * Runs `work` for every item, the longest first, as long as the costs of those that run fit into `capacity`. One that is
 * larger than that runs alone. Resolves when all have ended, or those that had begun when `signal` came.
 */
export async function schedule(items, capacity, work, signal) {
  const waiting = [...items].sort((a, b) => b.seconds - a.seconds);
  const running = new Set();
  let used = 0;
  const fits = ({ cost }) => running.size === 0 || used + cost <= capacity;
  while ((waiting.length > 0 && !signal.aborted) || running.size > 0) {
    // Whoever needs the whole machine comes last, so that nobody waits for it to get empty.
    const at = signal.aborted ? -1 : waiting.findIndex((item) => Number.isFinite(item.cost) && fits(item));
    const next = at < 0 && running.size === 0 ? 0 : at;
    if (next < 0 || waiting.length === 0) {
      await Promise.race(running);
      continue;
    }
    const [item] = waiting.splice(next, 1);
    used += item.cost;
    const done = work(item).finally(() => {
      running.delete(done);
      used = running.size === 0 ? 0 : used - item.cost;
    });
    running.add(done);
  }
}
