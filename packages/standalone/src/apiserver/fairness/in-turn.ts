import { StatusError } from "@mooring/store";
import type { Api } from "../api.ts";
import { attributesOf } from "../auth/attributes.ts";
import { groundsOf, isStillLetIn } from "../auth/authenticate.ts";
import { nodeOf } from "../auth/node-name.ts";
import { receiveBody } from "../http/body.ts";
import { type Call, flag } from "../http/call.ts";
import { keepFor } from "../http/keep.ts";
import { sendError } from "../http/respond.ts";

const SENDS_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const STREAMS: ReadonlySet<string> = new Set(["exec", "attach", "portforward"]);

/**
 * Has a request worked on when it is its user's turn, with its body there. It has its seat while it is worked on: neither
 * while it comes, nor while its response waits for the client.
 */
export async function inTurn(call: Call, api: Api, work: Work): Promise<void> {
  const lasts = lastingOf(call);
  if (lasts === "with-client") return whileLetIn(call, api, work);
  if (lasts === "with-response") return whileLetIn(call, api, () => inSeat(call, api, work));
  limitTime(call, api);
  const kept = keepFor(call);
  try {
    if (SENDS_BODY.has(call.method)) await receiveBody(call, kept);
    await inSeat(call, api, work);
  } finally {
    kept.release();
  }
}

type Work = () => Promise<void> | void;

async function inSeat(call: Call, { turns }: Api, work: Work): Promise<void> {
  if (isExempt(call)) return work();
  const seat = await turns.take(call.user.username);
  call.seat = seat;
  try {
    // A client that has left meanwhile wants nothing any more.
    call.signal.throwIfAborted();
    await work();
  } finally {
    seat.leave();
  }
}

/** For as long as the client would be let in, and the server does not stop. */
async function whileLetIn(call: Call, api: Api, work: Work): Promise<void> {
  const { request, caller, user, end } = call;
  const leave = api.lasting.take(user, () => end(new Error("others need its place")));
  const stop = () => end(new Error("the server stops"));
  api.signal.addEventListener("abort", stop, { once: true });
  const release = api.revocation.guard({
    grounds: groundsOf(request, caller, api.tokens),
    still: () => isStillLetIn(request, caller, api),
    end: () => end(new StatusError("Unauthorized", "Unauthorized")),
  });
  try {
    await work();
  } finally {
    leave();
    release();
    api.signal.removeEventListener("abort", stop);
  }
}

/**
 * Watches, followed logs and streams last as long as the client reads: they have neither a seat nor a time. A log that
 * is not followed has no time, as it may be long. As in Kubernetes.
 */
function lastingOf(call: Call): "with-client" | "with-response" | undefined {
  const attributes = attributesOf(call);
  if (attributes.type === "path") return undefined;
  if (attributes.verb === "watch") return "with-client";
  if (attributes.group !== "" || attributes.resource !== "pods") return undefined;
  if (attributes.subresource === "log" && attributes.verb === "get")
    return flag(call.query, "follow") === true ? "with-client" : "with-response";
  return STREAMS.has(attributes.subresource) ? "with-client" : undefined;
}

/** Those whose silence would stop everybody: the machine's own administrator, and nodes that say that they live. */
function isExempt({ user, segments }: Call): boolean {
  if (user.groups.includes("system:masters")) return true;
  return nodeOf(user) !== undefined && segments[1] === "coordination.k8s.io";
}

/** The end of a request that takes too long, or whose client does not read the response. */
function limitTime(call: Call, { requestMs }: Api): void {
  const { request, response } = call;
  const timer = setTimeout(() => {
    const late = new StatusError("Timeout", "request did not complete within the allotted timeout");
    const begun = response.headersSent;
    call.end(late);
    // Also where the response has no connection yet, behind others that are not read.
    if (begun || response.socket === null) request.socket.destroy();
    else sendError(call, late).catch(() => request.socket.destroy());
  }, requestMs);
  timer.unref();
  response.once("close", () => clearTimeout(timer));
}
