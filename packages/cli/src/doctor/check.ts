/** `warn`: works, with a limit the person should know. */
type CheckState = "ok" | "warn" | "fail";

export interface Check {
  check: string;
  state: CheckState;
  detail: string;
  next?: string;
}

export function check(name: string, state: CheckState, detail: string, next?: string): Check {
  return { check: name, state, detail, ...(next === undefined || state === "ok" ? {} : { next }) };
}
