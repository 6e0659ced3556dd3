import { limitsOf } from "../http/body.ts";
import type { Call } from "../http/call.ts";
import type { Limits } from "../http/parse/limits.ts";
import { checkMeasure } from "../http/parse/measure.ts";
import type { Admit } from "./escalation.ts";

/** Records of who has written which field: one for each field and writer. */
const MOST_WRITERS = 3;

/**
 * An object does not get larger by pieces than it may be at once: the next patch of it would cost as much as all before. Throws
 * BadRequest.
 */
export function sizeCheck(call: Call): Admit {
  const most = limitsOf(call);
  return ({ metadata, ...rest }) => {
    const { managedFields = [], ...others } = metadata;
    // What the server itself writes into metadata is no reason to refuse what has just been taken.
    checkMeasure({ metadata: others, ...rest }, times(most, 1));
    checkMeasure(managedFields, times(most, MOST_WRITERS));
  };
}

/** And a little more. */
const times = ({ values, keys }: Limits, factor: number): Limits => ({
  values: factor * values + 100,
  keys: factor * keys + 100,
});
