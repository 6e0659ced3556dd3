import { realpath, stat } from "node:fs/promises";
import { majorMinor } from "./device-numbers.ts";
import type { Clock, Exec, Mounts } from "./host.ts";
import { isShownAs, LoopIndex } from "./loop-index.ts";
import { readLoop, type SysfsLoop } from "./sysfs-loops.ts";

const MOST_COMPARED = 10_000;

/** Which device has a file. */
export class LoopFinder {
  readonly #exec: Exec;
  readonly #mounts: Pick<Mounts, "at">;
  readonly #index: LoopIndex;
  readonly #compared = new Set<string>();

  constructor(exec: Exec, mounts: Pick<Mounts, "at">, clock: Clock) {
    this.#exec = exec;
    this.#mounts = mounts;
    this.#index = new LoopIndex(() => clock.sinceBoot());
  }

  /**
   * The device, also one that goes away with its last user where there is no other. `recent`: "there is none" may be a
   * moment old.
   */
  async find(
    backingFile: string,
    { recent = false }: { recent?: boolean } = {},
  ): Promise<SysfsLoop | undefined> {
    const path = await realpath(backingFile).catch(() => backingFile);
    const known = recent ? await this.#among(this.#index.known(path), path) : undefined;
    // Beside one that is of no more use there may be a newer one.
    if (known !== undefined && !known.autoclear && !known.fenced && !known.deleted) return known;
    const found = await this.#among(this.#index.candidates(path, recent), path);
    if (found !== undefined || (await stat(path).catch(absentOrFailing)) !== "failing") return found;
    return this.#among(this.#index.failing(path), path);
  }

  async #among(names: readonly string[], path: string): Promise<SysfsLoop | undefined> {
    let leaving: SysfsLoop | undefined;
    for (const name of names) {
      const loop = await readLoop(name);
      if (loop === undefined || !isShownAs(loop.backingFile, path) || !(await this.#isOurs(loop, path)))
        continue;
      if (!loop.autoclear) return { ...loop, backingFile: path };
      leaving ??= { ...loop, backingFile: path };
    }
    return leaving;
  }

  /** The device that losetup reports for our file needs no comparison. */
  async learn(name: string, path: string): Promise<void> {
    this.#index.attached(path, name);
    const loop = await readLoop(name);
    if (loop !== undefined && isShownAs(loop.backingFile, path)) this.#remember(keyOf(loop, path));
  }

  /** The comparison costs a process, so it is made once per attachment. */
  async #isOurs(loop: SysfsLoop, path: string): Promise<boolean> {
    if (loop.deleted) return loop.backingFile === path;
    const known = keyOf(loop, path);
    if (loop.sequence !== "" && this.#compared.has(known)) return true;
    // A process shows it, for a storage cluster: to read it takes as long as that is silent. No other process has it at
    // this path.
    const shown = (await this.#mounts.at(path)).length > 0;
    if (!shown && !(await backs(this.#exec, loop, path))) return false;
    this.#remember(known);
    return true;
  }

  #remember(known: string): void {
    if (this.#compared.size > MOST_COMPARED) this.#compared.clear();
    this.#compared.add(known);
  }
}

/** Changes with every attachment of the device. */
function keyOf({ path: device, sequence }: SysfsLoop, file: string): string {
  return `${device} ${sequence} ${file}`;
}

/**
 * The same path in another mount namespace is another file (two nodes on one kernel, for instance), so device and
 * inode are compared as well.
 */
async function backs(exec: Exec, loop: SysfsLoop, path: string): Promise<boolean> {
  const columns = "BACK-INO,BACK-MAJ:MIN";
  const [shown, file] = await Promise.all([
    exec.try("losetup", ["--list", "--noheadings", "--output", columns, loop.path]),
    stat(path).catch(absentOrFailing),
  ]);
  const [inode, device] = shown.stdout.trim().split(/\s+/);
  // The kernel has neither number of a file whose file system has shut itself down. Then the whole path decides: another
  // namespace's file has the same only where its file system is down as well.
  if (file === "failing") return !inode && !device && loop.backingFile === path;
  if (file === undefined || inode === undefined || device === undefined) return false;
  return Number(inode) === file.ino && device === majorMinor(file.dev);
}

/** For `catch`: what there is of a path whose file system has shut itself down, and of one that cannot be read for another reason. */
export function absentOrFailing(error: unknown): undefined | "failing" {
  return error instanceof Error && "code" in error && error.code === "EIO" ? "failing" : undefined;
}
