import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, type HeapSpaceInfo, setFlagsFromString } from "node:v8";

/** Bytes of the young generation, both halves, at which it stops growing. V8's own limit is 32 MiB. */
const YOUNG = 8 * 2 ** 20;
/**
 * The old generation grows by half from one collection to the next; V8 lets a small one grow up to fourfold. And so small a young
 * generation is collected in less time than it takes to wake other threads for it.
 */
const SMALL = ["--heap-growing-percent=50", "--no-parallel-scavenge"];
/**
 * Bytes of the old generation from which on it may double. Each collection of it walks all that lives, and 20,000 volumes are
 * 60 MiB: what a claim costs must not depend on how much there is besides.
 */
const LARGE = 56 * 2 ** 20;
const AS_EVER = ["--heap-growing-percent=0", "--parallel-scavenge", "--semi-space-growth-factor=2"];

/**
 * Has V8 keep little garbage while the process works, and collect more often for that. What it has left when it is idle, see
 * `collectWhenIdle`. V8 reads these flags whenever it collects, so that no program has to be started with them. They are
 * those of all threads. When the process ends they are as ever: V8 takes up what it has compiled under the same flags only.
 */
export function keepGarbageSmall(): void {
  set(SMALL);
  const young = switched(({ space_size }) => space_size >= YOUNG, {
    ...{ on: "--semi-space-growth-factor=1", off: "--semi-space-growth-factor=2" },
  });
  const old = switched(({ space_used_size }) => space_used_size >= LARGE, {
    ...{ on: "--heap-growing-percent=100", off: "--heap-growing-percent=50" },
  });
  const heed = ({ isCollected }: { isCollected: boolean }) => {
    for (const space of getHeapSpaceStatistics()) {
      if (space.space_name === "new_space") young(space);
      if (space.space_name === "old_space" && isCollected) old(space);
    }
  };
  // They grow in a collection only, and shrink in one that `collectWhenIdle` makes.
  const observer = new PerformanceObserver((list) => {
    // Before a collection of it, much of what the old generation has is garbage.
    heed({ isCollected: list.getEntries().some((each) => isMajor(each)) });
  });
  observer.observe({ entryTypes: ["gc"] });
  // The observer hears of collections that follow each other after the last: each of them would let the young one grow.
  heed({ isCollected: false });
  process.prependOnceListener("exit", () => {
    observer.disconnect();
    set(AS_EVER);
  });
}

function set(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}

/** A collection of the old generation. Node's types know no `detail` of entries. */
function isMajor(entry: object): boolean {
  const { detail } = entry as { detail?: { kind?: number } };
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/** Sets one of the flags at first, and whenever the space has come to be so, or is so no more. */
function switched(
  isSo: (space: HeapSpaceInfo) => boolean,
  flags: { on: string; off: string },
): (space: HeapSpaceInfo) => void {
  let was: boolean | undefined;
  return (space) => {
    const is = isSo(space);
    if (is === was) return;
    was = is;
    set([is ? flags.on : flags.off]);
  };
}
