import { noQueueCounts, type QueueCounts } from "../queue-counts.ts";

/** What a controller has done since its process began. */
export interface ReconcileCounts {
  /** Keys taken to an end. */
  reconciled: number;
  steps: number;
  /** Steps that met an outdated picture. */
  conflicts: number;
  failures: number;
  /** Work that a resync found and no event had asked for: each is a defect. */
  resyncFound: number;
  /** Keys whose steps came to no end: each is a defect. */
  endless: number;
}

const counts = new Map<string, ReconcileCounts>();

/** The counts of one controller, shared by all that have its name. */
export function countsOf(controller: string): ReconcileCounts {
  const known = counts.get(controller);
  if (known !== undefined) return known;
  const fresh = { reconciled: 0, steps: 0, conflicts: 0, failures: 0, resyncFound: 0, endless: 0 };
  counts.set(controller, fresh);
  return fresh;
}

const queues = new Map<string, QueueCounts>();

/** The counts of one controller's work queue, shared by all that have its name. */
export function queueCountsOf(controller: string): QueueCounts {
  const known = queues.get(controller);
  if (known !== undefined) return known;
  const fresh = noQueueCounts();
  queues.set(controller, fresh);
  return fresh;
}

/** Counts of the work queues of all controllers of this process, by name. */
export function queueCounts(): ReadonlyMap<string, QueueCounts> {
  return queues;
}

const MOST_REMEMBERED = 20;
const remembered: string[] = [];

/** Remembers that a key's steps came to no end; `what` has them. */
export function countEndless(controller: string, key: string, what: string): void {
  countsOf(controller).endless += 1;
  if (remembered.length < MOST_REMEMBERED) remembered.push(`${controller} ${key}: ${what}`);
}

/** The first of them in this process since this was asked for last, each with its controller, key and last steps. */
export function takeEndless(): string[] {
  return remembered.splice(0);
}

/** Counts of all controllers of this process, by name. */
export function reconcileCounts(): ReadonlyMap<string, Readonly<ReconcileCounts>> {
  return counts;
}
