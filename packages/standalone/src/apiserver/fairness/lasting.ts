import { StatusError } from "@mooring/store";
import { nodeOf } from "../auth/node-name.ts";
import type { User } from "../http/call.ts";
import type { Most } from "./bounds.ts";
import { type Holder, Places } from "./places.ts";

const RETRY_SECONDS = 1;

/**
 * Requests that last, of which each has the server keep a connection and what is read ahead. A user has so many; when all
 * together have too many, the user who has the most loses their oldest: its client begins it again where it ended, as after
 * any other end of a watch. Administrators have no bound; nodes have that of one user.
 */
export class LastingRequests {
  readonly #users: Places;
  readonly #nodes: Places;

  constructor(most: Most) {
    this.#users = new Places(most);
    this.#nodes = new Places({ ...most, all: Number.POSITIVE_INFINITY });
  }

  /** Returns how to give it up; `end` ends the request. Throws TooManyRequests (429). */
  take(user: User, end: () => void): () => void {
    if (user.groups.includes("system:masters")) return () => {};
    const places = nodeOf(user) === undefined ? this.#users : this.#nodes;
    const holder: Holder = { user: user.username, mayEnd: () => true, end };
    places.add(holder);
    const isRefused = places.hasTooMany(holder.user) || (places.isOverfull && !places.endOneOfMost(holder));
    if (!isRefused) return () => places.leave(holder);
    places.leave(holder);
    throw tooMany("watches, logs and streams");
  }
}

/** The message to a client that has too many of something open. */
export function tooMany(what: string): StatusError {
  return new StatusError("TooManyRequests", `too many ${what} are open, please try again later`, {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
