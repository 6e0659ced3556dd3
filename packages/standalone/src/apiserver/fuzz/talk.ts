import type { Collection } from "./requests.ts";

/** What the server of a fuzz receives. */
export type Command = { do: "start"; parseThread: string | undefined } | { do: "begin" | "report" | "stop" };

/** What the requests since the last report have cost the server. */
export interface Report {
  is: "report";
  /** Milliseconds of processor time that the server's first thread had in one turn: a busy machine does not change them. */
  worst: number;
  /** Milliseconds on the wall, as `monitorEventLoopDelay` has them. */
  wall: number;
  stalls: { ms: number; requests: string[] }[];
  /** Bytes. */
  memory: number;
}

/** What it sends. */
export type ServerMessage =
  | { is: "up"; url: string; caPem: string; token: string; collections: Collection[] }
  | Report;
