import type { MessagePort } from "node:worker_threads";
import type { MetricFamily } from "@mooring/csi";
import type { StoreLink } from "@mooring/store";
import type { ClientBounds } from "../fairness/bounds.ts";

/** What the API server's thread begins with. */
export interface ThreadData {
  link: StoreLink;
  /** Has the changes of kinds, which are taken from it whenever a kind is asked for. */
  kinds: MessagePort;
}

/** How it serves, once it is asked to. */
export interface ServeData {
  listen: string;
  stateDir: string;
  /** The node of this process, and the socket of its kubelet. */
  nodeName: string;
  kubelet: string;
  /** What clients may have open at once. */
  bounds?: ClientBounds;
}

/** Messages from the process to the thread. */
export type ToThread =
  | { do: "serve"; options: ServeData }
  | { do: "stop" }
  | { do: "measured"; id: number; families: MetricFamily[] };

/** Messages from the thread to the process. */
export type FromThread =
  | { is: "serving"; url: string; caPem: string; token: string; kubeconfig: string }
  | { is: "failed"; error: Error; code: string | undefined; hint: string | undefined }
  | { is: "stopped" }
  | { is: "log"; level: LogLevel; bindings: LoggedFields; fields: LoggedFields; message: string }
  | { is: "measuring"; id: number };

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What is logged, as it can be sent. */
export type LoggedFields = Record<string, LoggedField>;
export type LoggedField = { value: unknown } | { error: LoggedError };

/** An error with all that a log shows of it. */
export interface LoggedError {
  name: string;
  message: string;
  stack: string | undefined;
  cause?: LoggedField;
  own: LoggedFields;
}
