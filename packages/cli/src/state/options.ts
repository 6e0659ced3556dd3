import { resolve } from "node:path";
import type { Damage } from "@mooring/store";

/** What all `mooring state` commands take. */
export interface StateOptions {
  stateDir: string;
  json?: boolean;
}

/** Where the store is below a state folder. */
export function storeFolder(stateDir: string): string {
  return resolve(stateDir, "store");
}

/** Prints `data` with `--json`, else `text`. */
export function print({ json }: StateOptions, data: object, text: string): void {
  process.stdout.write(json === true ? `${JSON.stringify(data, null, 2)}\n` : `${text}\n`);
}

/** One line per damaged place. */
export function listDamage(damage: readonly Damage[]): string {
  return damage.map(({ where, what }) => `\n  ${where}: ${what}`).join("");
}
