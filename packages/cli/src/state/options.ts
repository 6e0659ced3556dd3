import { resolve } from "node:path";
import type { Damage } from "@mooring/store";
import type { Output } from "../output/print.ts";

/** What all `mooring state` commands take. */
export interface StateOptions extends Output {
  stateDir: string;
}

/** Where the store is below a state folder. */
export function storeFolder(stateDir: string): string {
  return resolve(stateDir, "store");
}

/** One line per damaged place. */
export function listDamage(damage: readonly Damage[]): string {
  return damage.map(({ where, what }) => `\n  ${where}: ${what}`).join("");
}
