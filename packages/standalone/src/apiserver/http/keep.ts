import type { Kept } from "../fairness/buffers.ts";
import type { Call } from "./call.ts";

/** Counts what is kept for a request, which ends with its connection when that is too much. Not for administrators. */
export function keepFor({ user, request, buffers, end }: Call): Kept {
  if (user.groups.includes("system:masters")) return { add: () => {}, release: () => {} };
  return buffers.keep(user.username, () => {
    end(new Error("too much is kept for clients that are slow"));
    request.socket.destroy();
  });
}
