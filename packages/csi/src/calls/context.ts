import type { Logger } from "../log/logger.ts";

/** What a handler is given besides the request. */
export interface CallContext {
  /** Aborts when the client cancels, disappears, or its deadline passes. */
  readonly signal: AbortSignal;
  /** When the client stops waiting; undefined when it waits for ever. */
  readonly deadline: Date | undefined;
  /** Unique within this process; in every log line of the call. */
  readonly requestId: string;
  /** Carries the request id and the method that was called. */
  readonly logger: Logger;
  /** Full name of the method that is asked for, in csi.v1 also for callers of csi.v0: `csi.v1.Controller/CreateVolume`. */
  readonly method: string;
  /** Set when the caller uses csi.v0, whose error tables differ here and there from those of csi.v1. */
  readonly protocol?: "csi.v0";
}
