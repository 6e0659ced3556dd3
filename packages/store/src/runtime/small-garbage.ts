import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Bytes of the young generation, both halves, at which it stops growing. V8's own limit is 32 MiB. */
const YOUNG = 8 * 2 ** 20;
/**
 * The old generation grows by half from one collection to the next; V8 lets a small one grow up to fourfold. And so small a young
 * generation is collected in less time than it takes to wake other threads for it.
 */
const SMALL = ["--heap-growing-percent=50", "--no-parallel-scavenge"];
const AS_EVER = ["--heap-growing-percent=0", "--parallel-scavenge", "--semi-space-growth-factor=2"];

/**
 * Has V8 keep little garbage while the process works, and collect more often for that. What it has left when it is idle, see
 * `collectWhenIdle`. V8 reads these flags whenever it collects, so that no program has to be started with them. They are
 * those of all threads. When the process ends they are as ever: V8 takes up what it has compiled under the same flags only.
 */
export function keepGarbageSmall(): void {
  set(SMALL);
  let isHeld = false;
  // It grows in a collection only, and shrinks in one that `collectWhenIdle` makes.
  const observer = new PerformanceObserver(() => {
    const isGrown = youngSize() >= YOUNG;
    if (isGrown === isHeld) return;
    isHeld = isGrown;
    set([`--semi-space-growth-factor=${isHeld ? 1 : 2}`]);
  });
  observer.observe({ entryTypes: ["gc"] });
  process.prependOnceListener("exit", () => {
    observer.disconnect();
    set(AS_EVER);
  });
}

function set(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
}
