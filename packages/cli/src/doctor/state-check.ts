import { existsSync } from "node:fs";
import { newestRevisionFile } from "@mooring/engine";
import { checkStore, FileKindError, isOlder, lockFolder, StoreOpenError, storeFile } from "@mooring/store";
import { fromOlder } from "../output/report-error.ts";
import { storeFolder } from "../state/options.ts";
import { type Check, check } from "./check.ts";

/** What Mooring stores, while no process has it open: a store that is open was checked when it was opened. */
export async function stateChecks(stateDir: string): Promise<Check[]> {
  const folder = storeFolder(stateDir);
  if (!existsSync(folder)) return [];
  const file = storeFile(folder);
  const next = `put back a copy: mooring state restore --state-dir ${stateDir}`;
  try {
    const unlock = await lockFolder(folder);
    try {
      if (!existsSync(file)) return [check("store", "fail", `${file} is missing`, next)];
      const report = await checkStore(file);
      const { damage, objects } = report;
      const [first] = damage;
      if (first === undefined) {
        const older = await isOlder(report, newestRevisionFile(stateDir));
        if (older === undefined) return [check("store", "ok", `whole, ${objects} objects`)];
        return [check("store", "fail", `${file} ${older}`, fromOlder(stateDir))];
      }
      const more = damage.length === 1 ? "" : `; and ${damage.length - 1} more (mooring state check)`;
      return [check("store", "fail", `${file} is damaged: ${first.where}: ${first.what}${more}`, next)];
    } finally {
      await unlock();
    }
  } catch (error) {
    if (error instanceof StoreOpenError && error.reason === "Locked") return [];
    if (error instanceof FileKindError) return [check("store", "fail", error.message, error.hint)];
    throw error;
  }
}
