/** Upper bounds of durations in seconds: those that client-go has for its work queues. */
export const QUEUE_BOUNDS: readonly number[] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];

/** How long something took, as a histogram: what `Histogram` of `@mooring/csi` is, since neither package imports the other. */
export class Durations {
  /** By {@link QUEUE_BOUNDS}: how many took at most the bound and longer than the one before it; the last entry: longer than all. */
  readonly counts: number[] = new Array<number>(QUEUE_BOUNDS.length + 1).fill(0);
  seconds = 0;

  took(ms: number): void {
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < QUEUE_BOUNDS.length && seconds > (QUEUE_BOUNDS[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.seconds += seconds;
  }
}

/** What has gone through the work queues of one name since the process began. */
export interface QueueCounts {
  /** Keys that became ready. */
  adds: number;
  /** Keys that failed, and come again. */
  retries: number;
  /** From ready to a worker. */
  waited: Durations;
  /** With a worker. */
  worked: Durations;
}

/** Nothing has gone through yet. */
export const noQueueCounts = (): QueueCounts => ({
  ...{ adds: 0, retries: 0 },
  ...{ waited: new Durations(), worked: new Durations() },
});
