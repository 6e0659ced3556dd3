import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { StatusError } from "@mooring/store";
import type { User } from "../http/call.ts";

export const ADMIN: User = {
  username: "mooring-admin",
  groups: ["system:masters", "system:authenticated"],
};
export const ANONYMOUS: User = { username: "system:anonymous", groups: ["system:unauthenticated"] };

/** Knows the user behind a bearer token; undefined when there is none. */
export type TokenReader = (token: string) => User | undefined;

/** One token, one user. Compares in constant time. */
export function singleToken(token: string, user: User = ADMIN): TokenReader {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(token);
  return (given) => (timingSafeEqual(digest(given), expected) ? user : undefined);
}

/** Without credentials the caller is anonymous; wrong ones are Unauthorized (401). */
export function authenticate(request: IncomingMessage, readToken: TokenReader): User {
  const { authorization } = request.headers;
  if (authorization === undefined) return ANONYMOUS;
  const token = /^bearer\s+(\S+)\s*$/i.exec(authorization)?.[1];
  const user = token === undefined ? undefined : readToken(token);
  if (user === undefined) throw new StatusError("Unauthorized", "Unauthorized");
  return user;
}
