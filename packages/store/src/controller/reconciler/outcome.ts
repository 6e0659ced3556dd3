/** How a decision ends the work on a key, for now. */
export type Outcome =
  /** All is as it should be. */
  | { do: "done" }
  /** Another controller, a node or an operator has to do something first. With `afterMs` the key comes again then, without any event. */
  | { do: "wait"; afterMs?: number }
  /** It cannot be done as things are: the key comes again with back-off. */
  | { do: "fail"; code: string; message: string; hint?: string };

/** The outcome of a decision that finds nothing to do until something that was read changes. */
export const DONE: { do: "done" } = { do: "done" };

/** Until something that was read changes, or (with a time that is not infinite) at the latest then. Milliseconds. */
export function wait(afterMs = Number.POSITIVE_INFINITY): { do: "wait"; afterMs?: number } {
  return afterMs === Number.POSITIVE_INFINITY ? { do: "wait" } : { do: "wait", afterMs };
}

/** Distinguishes an outcome (`done`, `wait`, `fail`) from a step to apply. */
export function isOutcome(step: { do: string }): step is Outcome {
  return step.do === "done" || step.do === "wait" || step.do === "fail";
}

/** A step by its name, with what it records and the step that it is taken for. */
export function stepName(step: { do: string; what?: unknown; step?: unknown }): string {
  const { what, step: inner } = step;
  if (isStep(inner)) return `${step.do}: ${stepName(inner)}`;
  return what === undefined ? step.do : `${step.do} ${String(what)}`;
}

function isStep(value: unknown): value is { do: string } {
  return typeof value === "object" && value !== null && "do" in value && typeof value.do === "string";
}
