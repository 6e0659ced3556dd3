import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { copiesFolder, copyFolder, copyName, makeFolder, storeFile } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { print } from "../output/print.ts";
import { type StateOptions, storeFolder } from "./options.ts";

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}

/** `mooring state backup [FILE]`: by default among the copies that Mooring makes by itself, which go with time. */
export async function backupState(file: string | undefined, options: StateOptions): Promise<void> {
  const folder = copiesFolder(resolve(options.stateDir));
  const target = file === undefined ? join(folder, copyName(new Date(), 0)) : resolve(file);
  if (await isThere(target))
    throw new CommandError(`${target} is there already`, { next: "name a file that is not" });
  if (file !== undefined && !(await isFolder(dirname(target))))
    throw new CommandError(`${dirname(target)} is not a folder that is there`, {
      next: "make it, or name a file in another folder",
    });
  const store = storeFolder(options.stateDir);
  if (!(await isThere(storeFile(store))))
    throw new CommandError(`there is no store in ${store}`, {
      next: "name the state folder with --state-dir",
    });
  if (file === undefined) await makeFolder(folder, 0o700);
  const { revision, objects, bytes } = await copyFolder(store, target);
  print(
    options,
    { file: target, revision, objects, bytes },
    () => `${target}: ${objects} objects, revision ${revision}, checked\n`,
  );
}
