import { type Volume, Volumes } from "@mooring/engine";
import { isNotFound, type ObjectStore } from "@mooring/store";
import { isKindMissing } from "../output/api-refusal.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** Throws a CommandError when there is no such volume. */
export async function findVolume(store: ObjectStore, name: string): Promise<Volume> {
  try {
    return await store.get(Volumes, { name });
  } catch (error) {
    if (!isNotFound(error) || isKindMissing(error)) throw error;
    throw new CommandError(`volume ${name} does not exist`, {
      exitCode: EXIT.negative,
      next: "see those that do: mooring volume list",
    });
  }
}
