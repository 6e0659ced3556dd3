/** What the driver says about one volume; `lost` when it does not know it any more. */
export type Condition = { abnormal: boolean; message: string };

type ConditionStep = { do: "none" } | { do: "tell-abnormal"; message: string } | { do: "tell-normal" };

/**
 * What a claim's user is to be told. `known` is the message that the claim carries already: an event is for news, also
 * after a restart.
 */
export function decideCondition(known: string | undefined, condition: Condition): ConditionStep {
  if (!condition.abnormal) return known === undefined ? { do: "none" } : { do: "tell-normal" };
  const message = condition.message || "the driver reports an abnormal condition without a reason";
  return known === message ? { do: "none" } : { do: "tell-abnormal", message };
}
