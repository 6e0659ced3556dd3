import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";

/** Records below a state folder whose it is: a node's name and a line break. */
const FILE = "node-name";

/**
 * A state folder has the volumes, tickets and pods of one node, under its name: another one would be a second node on the
 * first one's data. Only for who has the folder's lock.
 */
export class FolderOwner {
  readonly #stateDir: string;
  readonly #nodeName: string;
  readonly #file: string;
  #isKnown = false;

  constructor(stateDir: string, nodeName: string) {
    this.#stateDir = stateDir;
    this.#nodeName = nodeName;
    this.#file = join(stateDir, FILE);
  }

  /** Throws CommandError when another name was written down. */
  async check(): Promise<void> {
    const text = await readFile(this.#file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const known = text.trim();
    if (known !== "") this.#require(known);
    this.#isKnown = known !== "";
  }

  /**
   * Writes the name down where it is not yet: at the first start, or anew when the file was lost. `nodes`: those of which
   * something is in the folder. Throws CommandError for another one of them.
   */
  async keep(nodes: readonly string[]): Promise<void> {
    if (this.#isKnown) return;
    for (const known of nodes) this.#require(known);
    await replaceFile(this.#file, `${this.#nodeName}\n`);
  }

  #require(known: string): void {
    if (known === this.#nodeName) return;
    throw new CommandError(`${this.#stateDir} is the state of node ${known}, not of ${this.#nodeName}`, {
      next: `start it with --node-name ${known}, or use another --state-dir`,
    });
  }
}
