import type { Turns } from "../testing/turn-meter.ts";
import type { Collection } from "./requests.ts";

/** Where the API server's thread is asked what its turns were. */
export const CHANNEL = "mooring-fuzz";
/** What it is asked; it responds to a report with {@link Turns}. */
export type ToMeter = "begin" | "report";

/**
 * What the server of a fuzz receives. `thread`: the program of the API server's thread, `parseThread`: the text of that of
 * large bodies.
 */
export type Command =
  | { do: "start"; thread: string; parseThread: string | undefined }
  | { do: "begin" | "report" | "stop" };

/** What the requests since the last report have cost the server. */
export interface Report {
  is: "report";
  /** The thread of the API server. */
  server: Turns;
  /** The thread of the store, of leases and agents. */
  store: Turns;
  /** Bytes. */
  memory: number;
}

/** What it sends. */
export type ServerMessage =
  | { is: "up"; url: string; caPem: string; token: string; collections: Collection[] }
  | Report;
