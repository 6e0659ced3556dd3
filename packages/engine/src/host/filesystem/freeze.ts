import { defined } from "@mooring/store";
import { EngineError } from "../../errors.ts";
import { armFreezer, FreezeError } from "../freezer/freezer.ts";

/** A file system that takes no writes until `thaw`, or until its time is over, whichever comes first. */
export interface Frozen {
  /** Resolves when writes go on. False: the watchdog had thawed it before, so what was done meanwhile was not covered. */
  thaw(): Promise<boolean>;
}

/**
 * Freezes the file system mounted at `mountPath` (fsfreeze(8)): everything written so far is on the device and no
 * write proceeds. `maxSeconds` bounds how long. The freeze ends with this process, whatever ends it.
 */
export async function freeze(mountPath: string, maxSeconds: number): Promise<Frozen> {
  const freezer = await armFreezer([{ kind: "filesystem", path: mountPath }], maxSeconds);
  await freezer.freeze().catch((error: unknown) => {
    throw error instanceof FreezeError ? cannotFreeze(error) : error;
  });
  return freezer;
}

function cannotFreeze({ message, hint, busy }: FreezeError): EngineError {
  return new EngineError(busy ? "ABORTED" : "INTERNAL", message, defined({ hint }));
}
