import type { IncomingMessage, ServerResponse } from "node:http";
import type { Upgrade } from "../../streams/handshake.ts";
import type { Buffers } from "../fairness/buffers.ts";
import type { Seat } from "../fairness/turns.ts";
import type { ParsePool } from "./parse/pool.ts";

/** Who sends a request, as authentication.k8s.io/v1 UserInfo. */
export interface User {
  username: string;
  uid?: string;
  groups: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** One HTTP request with what every handler needs of it. */
export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  method: string;
  /** Decoded path segments, without empty ones. */
  segments: readonly string[];
  path: string;
  query: URLSearchParams;
  user: User;
  /** Whose credentials came with it; the same, unless the client impersonates another user. */
  caller: User;
  /** The client asks for another protocol; the handler that takes the connection sends no other response. */
  upgrade?: Upgrade;
  /** Reads bodies that are large. */
  parser: ParsePool;
  /** Counts what is kept for clients that do not read. */
  buffers: Buffers;
  /** All of it, once it has come. */
  body?: Buffer;
  /** Where it is worked on; absent: it needs none. */
  seat?: Seat;
  /** Aborts when the client goes away and with `end`; of requests that last, when the server stops as well. */
  signal: AbortSignal;
  /** Nothing that it waits for is worth waiting for any more. */
  end(why: Error): void;
}

/** Of one warning, and of all in a response, in bytes: as upstream, so that no client refuses the response for its head. */
const LONGEST_WARNING = 256;
const MOST_WARNINGS = 4 * 1024;

/** `Warning: 299`: kubectl prints it, client-go logs it. Quotes and control characters cannot be sent as they are. */
export function warn(call: Call, text: string): void {
  const clean = text
    .slice(0, LONGEST_WARNING)
    .replaceAll(/\p{Cc}/gu, " ")
    .replaceAll(/["\\]/g, "\\$&");
  const encoded = Buffer.from(clean, "utf8").toString("latin1");
  const header = `299 - "${encoded}"`;
  const present = call.response.getHeader("Warning");
  const all = Array.isArray(present) ? present : [];
  const length = all.reduce((sum, each) => sum + each.length, header.length);
  if (!all.includes(header) && length <= MOST_WARNINGS) call.response.setHeader("Warning", [...all, header]);
}

/** Kubernetes reads `1`, `t`, `true`, `True`... and, for a parameter without value, nothing. */
export function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (/^(1|t|true)$/i.test(value)) return true;
  return /^(0|f|false)$/i.test(value) ? false : undefined;
}
