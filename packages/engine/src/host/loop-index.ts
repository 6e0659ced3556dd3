import { backingFiles, DELETED } from "./sysfs-loops.ts";

/** How old a picture of all devices may be where a slightly old "there is none" does no harm. */
const RECENT_MS = 250;

/**
 * What the kernel may show for a file: its path, or the end of it. A device that was attached in a mount namespace which
 * is gone (of a container that was restarted) shows the path below the mount that the file was opened through.
 */
function shownAs(path: string): string[] {
  const shown = [path];
  for (let at = path.indexOf("/", 1); at > 0; at = path.indexOf("/", at + 1)) shown.push(path.slice(at));
  return shown;
}

/** Whether a device that shows this may have the file: see {@link shownAs}. Only its inode shows which file it is. */
export function isShownAs(backingFile: string, path: string): boolean {
  return backingFile.startsWith("/") && path.endsWith(backingFile);
}

/**
 * Which devices may have a file, by reading sysfs for all of them. With hundreds attached that costs milliseconds, so
 * a recent picture is kept; what this process attaches and detaches is put into it at once.
 */
export class LoopIndex {
  readonly #now: () => number;
  #names = new Map<string, string[]>();
  #at = Number.NEGATIVE_INFINITY;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Device names (`loop3`) to read; each has to be checked, the file may have left it meanwhile. */
  candidates(path: string, recent: boolean): readonly string[] {
    const age = this.#now() - this.#at;
    if (!recent || age > RECENT_MS || age < 0) this.#take({ sizeless: false });
    return this.known(path);
  }

  /** The same with devices whose file system has failed: see {@link backingFiles}. */
  failing(path: string): readonly string[] {
    this.#take({ sizeless: true });
    return this.known(path);
  }

  /** The same of the picture that there is, however old: a device that still has the file is found without all others. */
  known(path: string): readonly string[] {
    return shownAs(path).flatMap((shown) => this.#names.get(shown) ?? []);
  }

  attached(path: string, name: string): void {
    const names = this.#names.get(path) ?? [];
    if (!names.includes(name)) this.#names.set(path, [...names, name]);
  }

  #take(which: { sizeless: boolean }): void {
    this.#names = new Map();
    this.#at = this.#now();
    for (const [name, file] of backingFiles(which)) this.attached(file.replace(DELETED, ""), name);
  }
}
