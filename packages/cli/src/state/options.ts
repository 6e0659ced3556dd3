import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type Damage, fileKind } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import type { Output } from "../output/print.ts";

/** What all `mooring state` commands take. */
export interface StateOptions extends Output {
  stateDir: string;
}

/** Where the store is below a state folder. */
export function storeFolder(stateDir: string): string {
  return resolve(stateDir, "store");
}

export const NAME_COPY = "name the file of a store, or a copy of one";

/** Throws CommandError for what is no regular file: a FIFO would wait for who writes into it, a folder cannot be read. */
export function requireFile(path: string, next: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) throw new CommandError(`${path} is not there`, { next });
  if (!info.isFile()) throw new CommandError(`${path} is ${fileKind(info)}, not a regular file`, { next });
}

/** One line per damaged place. */
export function listDamage(damage: readonly Damage[]): string {
  return damage.map(({ where, what }) => `\n  ${where}: ${what}`).join("");
}
