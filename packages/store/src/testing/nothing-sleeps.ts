import { lastingSleepers } from "../controller/reconciler/at-rest.ts";
import { reconcileCounts } from "../controller/reconciler/metrics.ts";

/**
 * For the end of a test that runs a system in this process: throws when a controller has something to do that no event
 * has asked for, or a resync has had to find some.
 */
export async function nothingSleeps(): Promise<void> {
  const due = (await lastingSleepers()).map(({ controller, key, step }) => `${controller} ${key}: ${step}`);
  const found = [...reconcileCounts()]
    .filter(([, { resyncFound }]) => resyncFound > 0)
    .map(([controller, { resyncFound }]) => `${controller}: ${resyncFound} found by a resync`);
  const all = [...due, ...found];
  if (all.length > 0) throw new Error(`nothing asks for what is due: ${all.join("; ")}`);
}
