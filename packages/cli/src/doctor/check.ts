/** `warn`: works, with a limit the operator should know. */
type CheckState = "ok" | "warn" | "fail";

/** One thing that `mooring doctor` has checked; `next` is what to do. */
export interface Check {
  check: string;
  state: CheckState;
  detail: string;
  next?: string;
}

/** A {@link Check}. */
export function check(name: string, state: CheckState, detail: string, next?: string): Check {
  return { check: name, state, detail, ...(next === undefined || state === "ok" ? {} : { next }) };
}
