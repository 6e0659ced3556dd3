import type { User } from "../http/call.ts";

/** The node that speaks; undefined: it is none. */
export function nodeOf({ username, groups }: User): string | undefined {
  const name = username.startsWith(PREFIX) ? username.slice(PREFIX.length) : "";
  return name !== "" && groups.includes("system:nodes") ? name : undefined;
}

const PREFIX = "system:node:";
