import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { StatusError } from "@mooring/store";
import type { User } from "../http/call.ts";
import type { ServiceAccountTokens } from "./service-account.ts";

const ADMIN: User = {
  username: "mooring-admin",
  groups: ["system:masters", "system:authenticated"],
};
/** Who sends no credentials. */
export const ANONYMOUS: User = { username: "system:anonymous", groups: ["system:unauthenticated"] };

/** Finds the user behind a bearer token, for the server itself or for these audiences; undefined when there is none. */
export type TokenReader = (token: string, audiences?: readonly string[]) => Promise<User | undefined>;

/** The administrator's token, compared in constant time, and those of service accounts. */
export function tokenReader(adminToken: string, tokens: ServiceAccountTokens): TokenReader {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(adminToken);
  return async (given, audiences) => {
    if (timingSafeEqual(digest(given), expected)) return ADMIN;
    return tokens.read(given, new Date(), audiences?.length === 0 ? undefined : audiences);
  };
}

/** Without credentials the caller is anonymous; wrong ones are Unauthorized (401). */
export async function authenticate(request: IncomingMessage, readToken: TokenReader): Promise<User> {
  const { authorization } = request.headers;
  // Join tokens are nobody's yet: whoever hands one out checks it.
  if (authorization === undefined || request.url === "/join") return ANONYMOUS;
  const token = /^bearer\s+(\S+)\s*$/i.exec(authorization)?.[1];
  const user = token === undefined ? undefined : await readToken(token);
  if (user === undefined) throw new StatusError("Unauthorized", "Unauthorized");
  return user;
}
