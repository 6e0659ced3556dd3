import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";

/** Records below a state folder whose it is: a node's name and a line break. */
const FILE = "node-name";

/**
 * A state folder has the volumes, tickets and pods of one node, under its name: another one would be a second node on the
 * first one's data. The first start writes the name down; throws CommandError for another name later. Only for who has
 * the folder's lock.
 */
export async function keepOwner(stateDir: string, nodeName: string): Promise<void> {
  const path = join(stateDir, FILE);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const known = text.trim();
  if (known === nodeName) return;
  // Lost with the power, the next start writes it again; half a name would be another node's.
  if (known === "") return replaceFile(path, `${nodeName}\n`);
  throw new CommandError(`${stateDir} is the state of node ${known}, not of ${nodeName}`, {
    next: `start it with --node-name ${known}, or use another --state-dir`,
  });
}
