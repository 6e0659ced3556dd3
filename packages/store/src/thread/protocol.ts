import type { MessagePort } from "node:worker_threads";
import type { DecidedWrite } from "../local/decided.ts";
import type { DiskFault } from "../local/disk-faults.ts";
import type { JsonListEnd } from "../local/list.ts";
import type { JsonWatchEvent } from "../local/watch.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import type { StatusDetails, StatusReason } from "../object/status-error.ts";
import type { ListOptions, WatchOptions } from "../object-store.ts";

/**
 * Of the numbers of a link: how many requests of `atOnce` have had their response, and 1 from when the store is served no
 * more.
 */
export const [RESPONSES, ENDED] = [0, 1];

/** What one thread has of another's store. Goes to the other thread as a message, with both ports in its transfer list. */
export interface StoreLink {
  /** Requests, and responses when they are there. */
  calls: MessagePort;
  /** Requests that are waited for, one at a time. */
  atOnce: MessagePort;
  /** {@link RESPONSES}, which changes when the response of `atOnce` has been sent, and {@link ENDED}. */
  responses: SharedArrayBuffer;
  requireNamespaces: boolean;
}

/** Options as far as they can be sent. */
export type SentList = Omit<ListOptions, "signal">;
export type SentWatch = Omit<WatchOptions, "signal">;

/** What is waited for: it is read out of memory. */
export type AtOnce =
  | { do: "get"; resource: Resource; key: ObjectKey }
  /** For the decision of write number `attempt`, which counts on it from now on. */
  | { do: "latest"; attempt: number; path: string }
  /** Begins list number `stream`; the response is its revision. */
  | { do: "list"; stream: number; resource: Resource; options: SentList }
  | { do: "disk-fault"; fault: DiskFault }
  | { do: "damage" };

/** What takes time. */
export type Call =
  | { do: "watch"; stream: number; resource: Resource; options: SentWatch }
  /** What has come on a stream since: at least one item, or its end. */
  | { do: "next"; stream: number }
  | { do: "write"; attempt: number; epoch: number; decided: DecidedWrite }
  | { do: "settled" };

/** What has no response. */
export type Notice = { do: "end"; stream: number } | { do: "forget"; attempt: number };

/** Items of a stream; `end` is there with the last ones. */
export interface Items {
  items: (string[] | JsonWatchEvent)[];
  end?: JsonListEnd;
}

/** An error on its way to another thread. */
export interface SentError {
  message: string;
  status?: { reason: StatusReason; details: StatusDetails; code: number };
}

export type Outcome = { value: unknown } | { error: SentError };
export type Numbered<T> = T & { id: number };
