import type { Host } from "@mooring/engine";
import { type BaseRoot, FRESH, openBaseRoot } from "./base-root.ts";
import type { OciMount } from "./oci/mounts.ts";
import { hidingMounts } from "./private-paths.ts";

/** What a container without an image starts on: the machine's root, and what takes its secrets away. */
export interface HostRoot {
  base: BaseRoot;
  hidden: readonly OciMount[];
}

const FRESH_MS = 1000;

/** Shared by all containers of a runtime, and read anew where the last reading is older than a second. */
export class HostRoots {
  readonly #host: Host;
  readonly #folder: string;
  readonly #hidden: () => Promise<string[]>;
  #base: Promise<BaseRoot> | undefined;
  #last: { at: number; root: Promise<HostRoot> } | undefined;

  /** `folder`: where the root is mounted. `hidden`: folders that no container may see. */
  constructor(host: Host, folder: string, hidden: () => Promise<string[]>) {
    this.#host = host;
    this.#folder = folder;
    this.#hidden = hidden;
  }

  /** Many containers that start together need this once. A failure is not kept. */
  current(): Promise<HostRoot> {
    const now = performance.now();
    if (this.#last !== undefined && now - this.#last.at < FRESH_MS) return this.#last.root;
    const last = { at: now, root: this.#read() };
    last.root.catch(() => {
      if (this.#last === last) this.#last = undefined;
    });
    this.#last = last;
    return last.root;
  }

  /** Nothing is being mounted for it any more. */
  async settled(): Promise<void> {
    await this.#last?.root.catch(() => undefined);
  }

  async #read(): Promise<HostRoot> {
    const base = await this.#open();
    const [, folders] = await Promise.all([base.refresh(), this.#hidden()]);
    return { base, hidden: await hidingMounts(await hiddenIn(base, folders)) };
  }

  /** Made with the first container; a failure is not kept. */
  #open(): Promise<BaseRoot> {
    this.#base ??= openBaseRoot(this.#host, this.#folder).catch((error: unknown) => {
      this.#base = undefined;
      throw error;
    });
    return this.#base;
  }
}

/** Where they would be seen: what is below a fresh folder of the container's own is not there anyway. */
async function hiddenIn(root: BaseRoot, folders: readonly string[]): Promise<string[]> {
  const places = await Promise.all(folders.map((folder) => root.mountPoint(folder, "directory")));
  return places.filter((place) => !FRESH.some((fresh) => `${place}/`.startsWith(`${fresh}/`)));
}
