import type { GroupCopier, Work } from "../group-copy.ts";
import type { Image } from "../image.ts";
import { settled } from "../reflink-copier.ts";
import type { RbdCopies, TakenSnapshot } from "./rbd-copies.ts";
import type { RbdImages } from "./rbd-images.ts";

/** One snapshot per image, all at once; the clones are made when writers go on again. */
export function rbdCopier(images: RbdImages, copies: RbdCopies): GroupCopier {
  return {
    atomicity: "each",
    // Half-made copies go with those of single images.
    sweep: async () => {},
    begin: async (works) => {
      const sources = await Promise.all(works.map(({ from }) => images.present(from.id)));
      const snapshots = new Map<Work, TakenSnapshot>();
      const giveUp = () => settled([...snapshots.values()].map((taken) => copies.giveUp(taken)));
      return {
        copy: async () => {
          await settled(
            works.map(async (work, index) => {
              const source = sources[index];
              if (source !== undefined) snapshots.set(work, await copies.take(source, work.id));
            }),
          );
        },
        finish: async (signal): Promise<Image[]> => {
          const made: Image[] = [];
          for (const [{ id, size, imageFeatures }, taken] of snapshots) {
            await copies.make(taken, size, { signal, imageFeatures });
            made.push(await images.commit(taken.name, id, size));
          }
          await giveUp();
          return made;
        },
        abandon: async () => {
          await giveUp();
          await settled([...snapshots.values()].map(({ name }) => images.discard(name)));
        },
      };
    },
  };
}
