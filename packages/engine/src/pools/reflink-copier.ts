import { rm } from "node:fs/promises";
import { join } from "node:path";
import { failpoint, syncFolder } from "@mooring/store";
import { resizeFile } from "./durable.ts";
import { commitImages, ownBlocks, reflink } from "./file-images.ts";
import type { GroupCopier, PreCopies, Work } from "./group-copy.ts";
import type { Image } from "./image.ts";
import { temporaryName } from "./image-store.ts";
import { PreCopy } from "./pre-copy.ts";
import type { ThickFiles } from "./thick-files.ts";

const reflinked = failpoint("engine/group-snapshot/reflinked");

/** Images that are pre-copied side by side: the pool's log is one for all of them. */
const AT_ONCE = 2;

/**
 * One reflink per image, all at once. Each is atomic; that they are one moment is for the caller to see to. Images in
 * many pieces are pre-copied, as far as their writers are kept still for the rest. `maker`: as for images.
 */
export function reflinkCopier(
  folder: string,
  { maker = "", thick: thickFiles }: { maker?: string; thick?: ThickFiles | undefined } = {},
): GroupCopier {
  const temporary = (id: string): string => join(folder, temporaryName(id, maker));
  return {
    atomicity: "each",
    // Temporary files go with those of single copies.
    sweep: async () => {},
    preCopy: async (copies, signal) => {
      const preCopies = new ReflinkPreCopies();
      try {
        // A thick image is written in place, so that it is in few pieces; and it shares its blocks for as short as can be.
        const waiting = copies.filter(({ from }) => from.thick !== true);
        const lane = async (): Promise<void> => {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
            preCopies.add(next.id, await PreCopy.begin(next.from, temporary(next.id), signal));
        };
        await settled(Array.from({ length: AT_ONCE }, lane));
        return preCopies;
      } catch (error) {
        await preCopies.drop();
        throw error;
      }
    },
    begin: async (copies, preCopies) => {
      const works = await Promise.all(copies.map((copy) => beginWork(copy, preCopies, temporary(copy.id))));
      return {
        copy: async () => {
          await settled(works.map(({ from, made, preCopy: copy }) => copy?.finish() ?? reflink(from, made)));
          reflinked();
        },
        finish: async (signal): Promise<Image[]> => {
          await settled(works.map(({ made, size }) => resizeFile(made, size)));
          for (const work of works) await ownBlocks(thickFiles, work, signal);
          return commitImages(
            folder,
            works.map(({ id, made, size, thick }) => ({ id, made, size, thick })),
          );
        },
        abandon: async () => {
          await Promise.all(works.map(({ preCopy: copy }) => copy?.drop()));
          await Promise.all(works.map(({ made }) => rm(made, { force: true })));
          await syncFolder(folder);
        },
      };
    },
  };
}

/** A pre-copy that cannot be brought close is as good as none. */
async function beginWork(copy: Work, all: PreCopies | undefined, path: string) {
  const preCopy = copy.still === true && all instanceof ReflinkPreCopies ? all.take(copy.id) : undefined;
  try {
    await preCopy?.arm(copy.from);
    return { ...copy, preCopy, made: preCopy?.path ?? path };
  } catch {
    await preCopy?.drop();
    return { ...copy, preCopy: undefined, made: path };
  }
}

/** By the id of the image to make. */
class ReflinkPreCopies implements PreCopies {
  readonly #copies = new Map<string, PreCopy>();

  add(id: string, copy: PreCopy | undefined): void {
    if (copy !== undefined) this.#copies.set(id, copy);
  }

  take(id: string): PreCopy | undefined {
    const copy = this.#copies.get(id);
    this.#copies.delete(id);
    return copy;
  }

  async drop(): Promise<void> {
    await Promise.all([...this.#copies.values()].map((copy) => copy.drop()));
    this.#copies.clear();
  }
}

/** All have ended when this does: a straggler must not write into what is being removed. */
export async function settled(works: readonly (Promise<unknown> | undefined)[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
