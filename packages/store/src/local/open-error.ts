import type { Damage } from "./check/damage.ts";

/**
 * Why a store cannot be opened. `Locked`: another process has it (`pid`). `FutureFormat`: written by a newer version.
 * `Damaged`: the file is not as it was written (`damage`). `Missing`: it is not there, and was. `Older`: it is a state from before.
 */
export type StoreOpenReason = "Locked" | "FutureFormat" | "Damaged" | "Missing" | "Older";

interface About {
  pid?: number | undefined;
  file?: string;
  damage?: readonly Damage[];
}

/**
 * A store that cannot be opened: in use by another process, damaged, or of a later version. The message says what to do.
 */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
  readonly reason: StoreOpenReason;
  /** The process that has the store, when it is known. */
  readonly pid: number | undefined;
  /** The store's file that is damaged or missing. */
  readonly file: string | undefined;
  readonly damage: Damage[];

  constructor(reason: StoreOpenReason, message: string, { pid, file, damage = [] }: About = {}) {
    super(message);
    this.reason = reason;
    this.pid = pid;
    this.file = file;
    this.damage = [...damage];
  }
}
