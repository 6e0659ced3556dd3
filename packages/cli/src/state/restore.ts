import { resolve } from "node:path";
import { checkStore, listCopies, restoreStore, StoreOpenError } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { print } from "../output/print.ts";
import { NAME_COPY, requireFile, type StateOptions, storeFolder } from "./options.ts";

/** The newest copy that is whole. */
async function newestWhole(stateDir: string): Promise<string> {
  const copies = await listCopies(stateDir);
  for (const { path } of copies) if ((await checkStore(path)).damage.length === 0) return path;
  const what = copies.length === 0 ? "there is no copy" : "every copy is damaged";
  throw new CommandError(`${what} below ${stateDir}`, {
    next: "name a copy from elsewhere: mooring state restore FILE",
  });
}

function isDamaged(error: unknown, copy: string): error is StoreOpenError {
  return error instanceof StoreOpenError && error.file === copy;
}

/** The copy's own folder is not where the store is to be put back. */
function unusable(cause: StoreOpenError, stateDir: string): CommandError {
  return new CommandError(cause.message, {
    next: `put back another copy; without FILE it is the newest that is whole: mooring state restore --state-dir ${stateDir}`,
    cause,
  });
}

/** `mooring state restore [FILE]`: 3 while Mooring runs. The store that was there is kept beside the new one. */
export async function restoreState(file: string | undefined, options: StateOptions): Promise<void> {
  const stateDir = resolve(options.stateDir);
  const from = file === undefined ? await newestWhole(stateDir) : resolve(file);
  requireFile(from, NAME_COPY);
  const restoring = restoreStore(storeFolder(stateDir), from);
  const { objects, revision, kept } = await restoring.catch((error: unknown) => {
    throw isDamaged(error, from) ? unusable(error, stateDir) : error;
  });
  const lines = [
    `restored ${objects} objects of revision ${revision} from ${from}`,
    ...(kept === undefined ? [] : [`what was there before is kept as ${kept}`]),
    "volumes and snapshots made since then are not known any more: their data is still in the pools.",
    "`mooring doctor` lists it after the next start; delete nothing of it before you have checked.",
  ];
  print(options, { from, objects, revision, kept }, () => `${lines.join("\n")}\n`);
}
