/**
 * Why a store cannot be opened. `Locked`: somebody has it (`pid`). `FutureFormat`: written by a newer version.
 * `Damaged`: the file is not as it was written. `Missing`: it is not there, and was.
 */
export type StoreOpenReason = "Locked" | "FutureFormat" | "Damaged" | "Missing";

export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
  readonly reason: StoreOpenReason;
  /** The process that has the store, when it is known. */
  readonly pid: number | undefined;

  constructor(reason: StoreOpenReason, message: string, pid?: number) {
    super(message);
    this.reason = reason;
    this.pid = pid;
  }
}
