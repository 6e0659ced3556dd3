import fc from "fast-check";
import { decide } from "../cluster/arbiter/decide.ts";
import { History, type HistoryEvent } from "./history.ts";
import type { Plan } from "./model.ts";
import { events, plans } from "./random.ts";
import { settle } from "./settle.ts";

/** What becomes of nodes that are silent in the end. */
type End = "return" | "fence";

/** Runs one history to its end; what went wrong, and the story of it, or undefined. */
function failureOf(
  plan: Plan,
  happened: readonly HistoryEvent[],
  end: End,
  by: typeof decide,
): string | undefined {
  const history = new History(plan, by);
  try {
    for (const event of happened) history.happen(event);
    settle(history, end);
    return undefined;
  } catch (error) {
    const place = plan.home === undefined ? "every node can reach" : `only node "${plan.home}" can reach`;
    const where = plan.kubernetes ? "in Kubernetes" : "of a driver alone";
    const kind = plan.migratable ? "migratable" : plan.shared ? "shared" : "private";
    const lines = [`a ${kind} volume ${where} that ${place}`, ...history.world.story];
    return [String(error), ...lines.map((line, i) => `${String(i).padStart(4)}. ${line}`)].join("\n");
  }
}

/**
 * Runs so many random histories. The first that breaks a property is made as small as can be, and returned as a story:
 * the property, what happened, and how to have it again; undefined: none breaks any. `by`: an arbiter in the place of
 * ours.
 */
export function search(numRuns: number, by: typeof decide = decide): string | undefined {
  // Of the last history that failed: the smallest. It is not run again, as a broken arbiter may not break twice.
  let story = "";
  const ends = fc.constantFrom<End[]>("return", "fence");
  const property = fc.property(plans, events, ends, (plan, happened, end) => {
    const failure = failureOf(plan, happened, end, by);
    story = failure ?? story;
    return failure === undefined;
  });
  const { failed, seed, counterexamplePath, numShrinks } = fc.check(property, { numRuns });
  return failed
    ? `${story}\n(seed ${seed}, path ${counterexamplePath}, shrunk ${numShrinks} times)`
    : undefined;
}
