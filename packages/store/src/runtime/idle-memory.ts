import { Session } from "node:inspector";
import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

/** How often it is asked whether the process is idle. */
const EVERY_MS = 5_000;
/** A process is idle that took less than this part of a processor since the last measurement. */
const BUSY = 0.2;
/** What the heap has to have grown by since the last collection: so much, and this part of it. */
const [LEAST_GROWTH, GROWTH_PART] = [4 * 2 ** 20, 0.1];
/** Collections take at most this part of one processor's time. */
const COST = 0.01;

/** What {@link IdleMemory} sees of a process, and does to it. */
export interface IdleProcess {
  /** Milliseconds, of a clock that does not jump. */
  now(): number;
  /** Processor time since the last call, as a part of that time. */
  utilization(): number;
  /** Milliseconds of processor time that it has had so far. */
  spent(): number;
  /** Bytes that the heap has of the system. */
  heapSize(): number;
  /** Collects all garbage; resolves when that is done. */
  collect(): Promise<void>;
}

/**
 * Collects garbage when a process has become idle. V8 collects when code allocates: a process that has had much to do, if
 * only its own start, keeps the garbage and the young generation of that time (32 MiB) for as long as nothing happens.
 */
export class IdleMemory {
  readonly #process: IdleProcess;
  #collected = 0;
  #notBefore = 0;

  constructor(process: IdleProcess) {
    this.#process = process;
  }

  /** Call it every few seconds. */
  async tick(): Promise<void> {
    const { now, utilization, spent, heapSize, collect } = this.#process;
    const growth = heapSize() - this.#collected;
    const isIdle = utilization() < BUSY;
    if (!isIdle || now() < this.#notBefore) return;
    if (growth < Math.max(LEAST_GROWTH, this.#collected * GROWTH_PART)) return;
    const start = spent();
    // Until it is done, nothing else begins one.
    this.#notBefore = Number.POSITIVE_INFINITY;
    await collect();
    // What others took of the processors meanwhile is no cost: on a busy machine a collection lasts a second.
    this.#notBefore = now() + (spent() - start) / COST;
    this.#collected = heapSize();
  }
}

/**
 * Has this thread collect its garbage whenever the process has become idle, and do `afterwards`. Does not keep it from
 * ending.
 */
export function collectWhenIdle(afterwards: () => void = () => {}): void {
  let [used, at] = [cpuMs(), performance.now()];
  const idle = new IdleMemory({
    now: () => performance.now(),
    // Not that of the event loop: on a machine where others are busy, that has much to do all the time.
    utilization: () => {
      const [usedBefore, before] = [used, at];
      [used, at] = [cpuMs(), performance.now()];
      return (used - usedBefore) / Math.max(1, at - before);
    },
    spent: cpuMs,
    heapSize: () => getHeapStatistics().total_heap_size,
    collect: async () => {
      await collect();
      afterwards();
    },
  });
  setInterval(() => void idle.tick(), EVERY_MS).unref();
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * What V8 does when its embedder says that memory is low. The function `gc` is no way to it: that leaves the young
 * generation as large as it is.
 */
async function collect(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await new Promise<void>((resolve) => {
      session.post("HeapProfiler.collectGarbage", () => resolve());
    });
  } finally {
    session.disconnect();
  }
}
