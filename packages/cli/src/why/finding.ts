import { defined } from "@mooring/store";
/** `ok`: nothing to wait for here. `waiting`: will go on by itself or by an operator. `failed`: an error was met. */
export type FindingState = "ok" | "waiting" | "failed";

/** One thing learned about one object, with what lies behind it below. */
export interface Finding {
  state: FindingState;
  /** `PersistentVolumeClaim shop/data` */
  subject: string;
  message: string;
  /** What an operator can do, when there is something. */
  next?: string;
  /** What is above is right without it: that it waits is shown, and is nothing that is wrong there. */
  aside?: true;
  children: Finding[];
}

/** What `mooring why` found about one object, with what it is waiting for in turn. */
export function finding(
  state: FindingState,
  subject: string,
  message: string,
  extra: { next?: string; children?: Finding[] } = {},
): Finding {
  const { next, children = [] } = extra;
  return { state, subject, message, children, ...defined({ next }) };
}

/** The worst state in a tree; what waits aside is not counted. */
export function result(root: Finding): FindingState {
  const below = root.children.map((child) => {
    const state = result(child);
    return child.aside === true && state === "waiting" ? "ok" : state;
  });
  const states = [root.state, ...below];
  if (states.includes("failed")) return "failed";
  return states.includes("waiting") ? "waiting" : "ok";
}

/** The deepest findings that are not ok: the actual causes. What waits below a failure waits because of it. */
export function causes(root: Finding): Finding[] {
  const below = root.children.flatMap(causes);
  if (root.state === "failed" && root.next !== undefined && below.every(({ state }) => state === "waiting"))
    return [root];
  if (below.length > 0) return below;
  return root.state === "ok" ? [] : [root];
}
