import type { KubeObject } from "../../object/meta.ts";
import type { ObjectStore } from "../../object-store.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Informer } from "../informer.ts";
import type { WorkQueueOptions } from "../work-queue.ts";
import type { DONE, Outcome } from "./outcome.ts";
import type { Reader } from "./reader.ts";
import type { ControllerSource } from "./source.ts";
import type { StepFailpoints } from "./step-failpoints.ts";

/** What every half of a controller gets with its key. */
export interface ReconcileContext {
  /** Aborts when the controller is to stop. */
  signal: AbortSignal;
  logger: Logger;
}

/** What `read` gets: the context, and the tracked reader. */
export interface ReadContext extends ReconcileContext {
  /** Notes what is read through it; a change of any of that asks for the key again. */
  reader: Reader;
  /** The last step met an outdated picture: ask the server itself, not a cache. */
  fresh: boolean;
  /** The read only shows whether anything is forgotten: what reads count, or keep for the next, stays as it is. */
  dry?: boolean;
}

/**
 * A controller. The loop reads what a decision needs, decides, makes one change, and reads again, until the decision
 * is an {@link Outcome}. It may be killed between any two of these.
 */
export interface ReconcilerOptions<View, Step extends { do: string }> {
  /** Named in logs and metrics: `snapshot`. */
  name: string;
  /** What `reader.store` reads. */
  store: Pick<ObjectStore, "get" | "list">;
  /** The objects that keys stand for: what is there gives the keys, what comes asks for them. */
  sources: readonly ControllerSource[];
  /** Whatever else `read` reads. Work begins when all of these and the sources are synced. */
  watched?: readonly WatchedInformer[];
  /** Keys that no object stands for (any more), such as what an earlier life has left on disk. */
  keys?: () => Iterable<string>;
  /**
   * Everything that the decision depends on. Undefined: nothing of ours, also when it becomes so. What other objects
   * say is read through `reader`, or a change of it may be slept through. Changes nothing: it is also called to see
   * whether anything is left to do.
   */
  read(key: string, context: ReadContext): Promise<View | undefined> | View | undefined;
  /**
   * Nothing can follow any more from what was read, also where other objects of it change: when nothing is to be done either, what was
   * read is forgotten, and the sources of the key alone bring it back. So they have to say of the same objects that they matter
   * ({@link ControllerSource.matters}). Default: when `read` returns undefined and has found nothing at all.
   */
  isGone?(view: View): boolean;
  /** Pure. */
  decide(view: View): Step | Outcome;
  /**
   * Makes one externally visible change. A Conflict it throws leads to a fresh read, other errors to back-off. It may
   * return {@link DONE} where what the change leads to asks for the key by itself: then nothing is read again now, and
   * what was read is forgotten.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most steps have nothing to return
  apply(step: Exclude<Step, Outcome>, view: View, context: ReconcileContext): Promise<typeof DONE | void>;
  /** Passed after every applied step: a process can be killed between any two of them. */
  failpoints: StepFailpoints<Exclude<Step, Outcome>>;
  /** The key could not be taken to its end; it comes again after a back-off, whatever this does. */
  failed?(key: string, error: unknown, context: ReconcileContext): Promise<void>;
  /** After a decision to be done or to wait: puts away what is no object. A failure of it is one of the key. */
  ended?(key: string, context: ReconcileContext): Promise<void>;
  /** An error of `apply` that means no more than that another controller, a node or a user has to act first. */
  waitsFor?(error: unknown): { do: "wait"; afterMs?: number } | undefined;
  /** The error of a `fail`; default {@link ReconcileFailure}. */
  errorOf?(outcome: Extract<Outcome, { do: "fail" }>): Error;
  /** Errors of `apply` that only mean an old picture; default: conflicts. */
  isOutdated?(error: unknown): boolean;
  /** Steps after which a decision that does not settle is an error; default 40. */
  mostSteps?: number;
  /** Keys worked on at the same time; default 4. Never the same key twice. */
  concurrency?: number;
  backoff?: WorkQueueOptions;
  logger?: Logger;
  /**
   * Steps that follow from what emits no events, for which decisions to wait name a time: such a step of a key that
   * comes again at that time is not forgotten before. Every other step is. Default: the times of waits are for time alone.
   */
  polls?: readonly Exclude<Step, Outcome>["do"][];
  /** Milliseconds between two passes over all keys that search for forgotten work; default 30 minutes, ±20 %. */
  resyncMs?: number;
}

/** An informer of any kind of object. */
export type WatchedInformer = Pick<Informer<KubeObject>, "resource" | "synced">;

/** A `fail`, thrown. */
export class ReconcileFailure extends Error {
  override readonly name = "ReconcileFailure";
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: Extract<Outcome, { do: "fail" }>) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
