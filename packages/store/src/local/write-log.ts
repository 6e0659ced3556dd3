import type { UnstructuredObject } from "../object/meta.ts";
import type { Resource } from "../object/resource.ts";
import type { StrategyContext } from "./registry.ts";

/** One object's change, as it was decided. */
export interface Change {
  type: "ADDED" | "MODIFIED" | "DELETED";
  /** Coordinates of the storage version. */
  resource: Resource;
  path: string;
  /** As it will be, but for its revision; of a deletion, the last state. */
  object: UnstructuredObject;
}

/** What a writer decides on, and what it hands its decisions to: the store of this thread, or of another one. */
export interface WriteLog {
  /** What the next write has to build on, as JSON. */
  latest(path: string): string | undefined;
  /** See {@link StrategyContext.collect}; absent: the log itself asks the rules that need it. */
  readonly collect?: NonNullable<StrategyContext["collect"]>;
  /**
   * Runs a write whose decision is synchronous up to its {@link WriteLog.commit}; once more where what it was founded on
   * has changed by then.
   */
  attempt<T>(write: () => Promise<T>): Promise<T>;
  /** Resolves with the JSON as it is stored, when it is on disk. */
  commit(change: Change, options: { patient?: boolean }): Promise<string>;
  /** Throws what a commit would throw because of other objects, and writes nothing. */
  rehearse(change: Change): Promise<void>;
  /** Resolves when everything decided so far is on disk. */
  settled(): Promise<void>;
}
