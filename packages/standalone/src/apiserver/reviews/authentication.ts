import type { UnstructuredObject } from "@mooring/store";
import { defined } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Call, User } from "../http/call.ts";

const userInfo = ({ username, uid, groups, extra }: User) => ({
  username,
  ...defined({ uid }),
  groups,
  ...defined({ extra }),
});

/** `kubectl auth whoami`. */
export function selfSubjectReview(_review: UnstructuredObject, call: Call): object {
  return { userInfo: userInfo(call.user) };
}

/** Whose token is this? */
export async function tokenReview(
  review: UnstructuredObject,
  _call: Call,
  { readToken }: Api,
): Promise<object> {
  const { token, audiences } = (review.spec ?? {}) as { token?: unknown; audiences?: string[] };
  const user = typeof token === "string" ? await readToken(token, audiences) : undefined;
  if (user === undefined) return { authenticated: false, user: {}, error: "invalid bearer token" };
  return { authenticated: true, user: userInfo(user) };
}
