import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How often it is asked whether the process is idle. */
const EVERY_MS = 5_000;
/** A process is idle that took less than this part of a processor since the last question. */
const BUSY = 0.2;
/** What the heap has to have grown by since the last collection: so much, and this part of it. */
const [LEAST_GROWTH, GROWTH_PART] = [4 * 2 ** 20, 0.1];
/** Collections take at most this part of the time. */
const COST = 0.01;

/** What {@link IdleMemory} sees of a process, and does to it. */
export interface IdleProcess {
  /** Milliseconds, of a clock that does not jump. */
  now(): number;
  /** Processor time since the last call, as a part of that time. */
  utilization(): number;
  /** Bytes that the heap has of the system. */
  heapSize(): number;
  /** Collects all garbage, at once. */
  collect(): void;
}

/**
 * Collects garbage when a process has become idle. V8 collects when somebody allocates: one that has had much to do, if only
 * its own start, keeps the garbage and the young generation of that time (32 MiB) for as long as nothing happens.
 */
export class IdleMemory {
  readonly #process: IdleProcess;
  #collected = 0;
  #notBefore = 0;

  constructor(process: IdleProcess) {
    this.#process = process;
  }

  /** Call it every few seconds. */
  tick(): void {
    const { now, utilization, heapSize, collect } = this.#process;
    const growth = heapSize() - this.#collected;
    const isIdle = utilization() < BUSY;
    if (!isIdle || now() < this.#notBefore) return;
    if (growth < Math.max(LEAST_GROWTH, this.#collected * GROWTH_PART)) return;
    const start = now();
    collect();
    this.#notBefore = now() + (now() - start) / COST;
    this.#collected = heapSize();
  }
}

/** Has this process collect its garbage whenever it has become idle. Does not keep it from ending. */
export function collectWhenIdle(): void {
  let [used, at] = [cpuMs(), performance.now()];
  const idle = new IdleMemory({
    now: () => performance.now(),
    // Not that of the event loop: on a machine where others are busy, that has much to do all the time.
    utilization: () => {
      const [usedBefore, before] = [used, at];
      [used, at] = [cpuMs(), performance.now()];
      return (used - usedBefore) / Math.max(1, at - before);
    },
    heapSize: () => getHeapStatistics().total_heap_size,
    collect,
  });
  setInterval(() => idle.tick(), EVERY_MS).unref();
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The function is one of V8's only while the flag is set; flags that differ would make the code cache useless. */
function collect(): void {
  setFlagsFromString("--expose-gc");
  const gc: () => void = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  gc();
}
