import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { EngineError } from "../../errors.ts";
import { cannotStart } from "../exec.ts";
import { COPIER_PROGRAM } from "./copier-program.ts";

/** Keeps a copy of a file of an XFS close to it, see COPIER_PROGRAM. One order at a time. */
export class Copier {
  readonly #child: ChildProcess;
  readonly #target: string;
  #onLine: ((line: string | undefined) => void) | undefined;
  #ended = false;
  readonly #end: Promise<unknown>;

  private constructor(child: ChildProcess, target: string) {
    this.#child = child;
    this.#target = target;
    this.#end = once(child, "close").finally(() => {
      this.#ended = true;
      this.#onLine?.(undefined);
    });
    child.stdin?.on("error", () => {});
    if (child.stdout !== null)
      createInterface({ input: child.stdout }).on("line", (line) => this.#onLine?.(line));
  }

  /** Both files are opened here: what their names stand for later does not matter. */
  static async start(source: string, target: string): Promise<Copier> {
    const from = await open(source, "r");
    try {
      const to = await open(target, "r+");
      try {
        const child = spawn("perl", ["-e", COPIER_PROGRAM], {
          stdio: ["pipe", "pipe", "ignore", from.fd, to.fd],
          env: { ...process.env, LC_ALL: "C" },
        });
        await once(child, "spawn").catch((cause: Error) => {
          throw cannotStart("perl", {}, cause);
        });
        return new Copier(child, target);
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
  }

  /** How many extents the file has. */
  fragments(): Promise<number> {
    return this.#order("fragments");
  }

  /** Clones what the copy has not, piece by piece; how many extents that were. The file may be written to. */
  follow(size: number): Promise<number> {
    return this.#order(`follow ${size}`);
  }

  /** To be called between the last `follow` and `finish`. */
  async arm(size: number): Promise<void> {
    await this.#order(`arm ${size}`);
  }

  /** Makes the copy the same as the file, to which no process may write meanwhile; resolves to how many extents that were. */
  finish(): Promise<number> {
    return this.#order("finish");
  }

  /** More than once is fine. Resolves when it writes nothing more. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    // Between two orders there is nothing that could be left half done, and during one, only the copy.
    this.#child.kill("SIGKILL");
    if (!this.#ended) await this.#end;
  }

  async #order(order: string): Promise<number> {
    const output = await new Promise<string | undefined>((resolve) => {
      this.#onLine = resolve;
      if (this.#ended) resolve(undefined);
      else this.#child.stdin?.write(`${order}\n`);
    });
    this.#onLine = undefined;
    const [, count] = /^ok (\d+)$/.exec(output ?? "") ?? [];
    if (count !== undefined) return Number(count);
    throw failed(this.#target, output ?? "it was stopped");
  }
}

function failed(target: string, output: string): EngineError {
  const why = output.replace(/^failed /, "");
  if (/No space left/.test(why)) return new EngineError("RESOURCE_EXHAUSTED", "no space left for a pre-copy");
  return new EngineError("INTERNAL", `cannot make a pre-copy at ${target}: ${why}`);
}
