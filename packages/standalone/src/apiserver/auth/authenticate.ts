import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isStatus, type JsonStore, Nodes, StatusError } from "@mooring/store";
import type { User } from "../http/call.ts";
import { nodeByCertificate } from "../join/identity.ts";
import { nodeOf } from "./node-name.ts";
import type { Ground } from "./revocation.ts";
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

/** By what users are known. */
interface Known {
  store: JsonStore;
  readToken: TokenReader;
}

/** Without credentials the caller is anonymous; wrong ones are Unauthorized (401). */
export async function authenticate(request: IncomingMessage, { store, readToken }: Known): Promise<User> {
  const node = nodeByCertificate(request, store);
  if (node !== undefined) return node;
  const { authorization } = request.headers;
  // Join tokens are no user's yet: the handler that signs certificates checks them.
  if (authorization === undefined || request.url === "/join") return ANONYMOUS;
  const token = tokenOf(request);
  const user = token === undefined ? undefined : await readToken(token);
  if (user === undefined) throw new StatusError("Unauthorized", "Unauthorized");
  return user;
}

const tokenOf = ({ headers }: IncomingMessage) =>
  /^bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];

/**
 * What the credential of a user lives by who was let in; nothing: the administrator's has no end, and an anonymous user has
 * none.
 */
export function groundsOf(request: IncomingMessage, user: User, tokens: ServiceAccountTokens): Ground[] {
  const node = nodeOf(user);
  if (node !== undefined) return [{ resource: Nodes, key: { name: node } }];
  const token = tokenOf(request);
  return token === undefined || user === ADMIN || user === ANONYMOUS ? [] : tokens.groundsOf(token);
}

/** Whether the sender of a request would be let in as the same user now. */
export async function isStillLetIn(
  request: IncomingMessage,
  { username }: User,
  known: Known,
): Promise<boolean> {
  try {
    return (await authenticate(request, known)).username === username;
  } catch (error) {
    if (isStatus(error, "Unauthorized")) return false;
    throw error;
  }
}
