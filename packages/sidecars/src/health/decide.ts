/** What the driver reports about one volume; `lost` when it does not know it any more. */
export type Condition = { abnormal: boolean; message: string };

type ConditionStep = { do: "none" } | { do: "report-abnormal"; message: string } | { do: "report-normal" };

/**
 * What to report to a claim's user. `known` is the message that the claim carries already: an event is for news, also
 * after a restart.
 */
export function decideCondition(known: string | undefined, condition: Condition): ConditionStep {
  if (!condition.abnormal) return known === undefined ? { do: "none" } : { do: "report-normal" };
  const message = condition.message || "the driver reports an abnormal condition without a reason";
  return known === message ? { do: "none" } : { do: "report-abnormal", message };
}
