import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyedLock } from "@mooring/store";
import type { UserRange } from "../../runtime/index.ts";
import type { KubeletPaths } from "../paths.ts";

/** Ids of one pod: as many as a container may have users. */
const RANGE_SIZE = 65_536;
/** Below are the ids of users and, by custom, of containers of other programs. */
const FIRST_RANGE = 1024;
const PER_FOLDER = 1024;
const FOLDERS = 15;

/** Which ids of the machine stand for those of a pod: the same as long as the pod has a folder here, and no other pod's. */
export class UserRanges {
  readonly #paths: Pick<KubeletPaths, "root" | "pods" | "pod">;
  readonly #lock = new KeyedLock();

  constructor(paths: Pick<KubeletPaths, "root" | "pods" | "pod">) {
    this.#paths = paths;
  }

  of(podUID: string): Promise<UserRange> {
    return this.#lock.run("", async () => {
      const known = await this.#read(podUID);
      const number = known ?? (await this.#take(podUID));
      return { first: number * RANGE_SIZE, size: RANGE_SIZE };
    });
  }

  async #take(podUID: string): Promise<number> {
    const taken = new Set(await Promise.all((await readdir(this.#paths.pods)).map((uid) => this.#read(uid))));
    // Two Moorings of one machine do not know of each other.
    const folder = createHash("sha256").update(this.#paths.root).digest().readUInt32BE() % FOLDERS;
    const start = FIRST_RANGE + folder * PER_FOLDER;
    const free = Array.from({ length: PER_FOLDER }, (_, at) => start + at).find((each) => !taken.has(each));
    if (free === undefined)
      throw new Error(`${PER_FOLDER} pods of this machine have a user namespace: no more can`);
    const file = this.#file(podUID);
    await mkdir(this.#paths.pod(podUID), { recursive: true, mode: 0o750 });
    await writeFile(`${file}.new`, String(free), { flush: true });
    await rename(`${file}.new`, file);
    return free;
  }

  /** Throws where there is a note that cannot be read: another pod would get the same ids. */
  async #read(podUID: string): Promise<number | undefined> {
    try {
      return Number(await readFile(this.#file(podUID), "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  #file(podUID: string): string {
    return join(this.#paths.pod(podUID), "userns");
  }
}
