import { rm } from "node:fs/promises";
import { join } from "node:path";
import { failpoint } from "@mooring/store";
import type { Image } from "./backend.ts";
import { resizeFile, syncFolder } from "./durable.ts";
import { commitImages, reflink } from "./file-images.ts";
import type { GroupCutter } from "./group-cut.ts";
import { temporaryName } from "./image-store.ts";

const reflinked = failpoint("engine/group-snapshot/reflinked");

/** One reflink per image, all at once. Each is atomic; that they are one moment is for the caller to see to. */
export function reflinkCutter(folder: string, maker = ""): GroupCutter {
  return {
    atomicity: "each",
    // Temporary files go with those of single copies.
    sweep: async () => {},
    begin: async (copies) => {
      const works = copies.map((copy) => ({ ...copy, made: join(folder, temporaryName(copy.id, maker)) }));
      return {
        cut: async () => {
          await settled(works.map(({ from, made }) => reflink(from, made)));
          reflinked();
        },
        finish: async (): Promise<Image[]> => {
          await settled(works.map(({ made, from }) => resizeFile(made, from.size)));
          return commitImages(
            folder,
            works.map(({ id, made, from }) => ({ id, made, size: from.size })),
          );
        },
        abandon: async () => {
          await Promise.all(works.map(({ made }) => rm(made, { force: true })));
          await syncFolder(folder);
        },
      };
    },
  };
}

/** All have ended when this does: a straggler must not write into what is being removed. */
export async function settled(works: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
