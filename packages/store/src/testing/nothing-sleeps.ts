import { atRest, lastingSleepers, type OfStore } from "../controller/reconciler/at-rest.ts";
import { reconcileCounts, takeEndless } from "../controller/reconciler/metrics.ts";

export interface NothingSleepsOptions extends OfStore {
  /** Waits until every controller of this process is idle, too: nothing of what the test has asked for goes on. */
  idle?: boolean;
}

/**
 * For the end of a test that runs a system in this process: throws when a controller has something to do that no event
 * has asked for, a resync has had to find some, or the steps of a key came to no end.
 */
export async function nothingSleeps({ idle = false, ...of }: NothingSleepsOptions = {}): Promise<void> {
  if (idle) await atRest(of);
  const due = (await lastingSleepers(of)).map(({ controller, key, step }) => `${controller} ${key}: ${step}`);
  const asleep = [...due, ...foundByResyncs()];
  const all = [
    ...(asleep.length === 0 ? [] : [`nothing asks for what is due: ${asleep.join("; ")}`]),
    ...takeEndless(),
  ];
  if (all.length > 0) throw new Error(all.join("; "));
}

/** What resyncs of this process have found, by controller. */
function foundByResyncs(): string[] {
  return [...reconcileCounts()]
    .filter(([, { resyncFound }]) => resyncFound > 0)
    .map(([controller, { resyncFound }]) => `${controller}: ${resyncFound} found by a resync`);
}

/** Runs the rest of a test's end whatever {@link nothingSleeps} finds, which is thrown afterwards. */
export async function endAtRest(
  end: () => Promise<unknown>,
  options: NothingSleepsOptions = {},
): Promise<void> {
  try {
    await nothingSleeps(options);
  } finally {
    await end();
  }
}
