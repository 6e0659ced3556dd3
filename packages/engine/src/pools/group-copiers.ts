import type { LocalPoolType } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import type { GroupCopier } from "./group-copy.ts";
import type { Image } from "./image.ts";
import type { ImageStore } from "./image-store.ts";
import type { PoolLayout } from "./layout.ts";
import { reflinkCopier, settled } from "./reflink-copier.ts";
import { subvolumeCopier } from "./subvolume-copier.ts";
import type { ThickFiles } from "./thick-files.ts";

/** What a pool copies its images with. `maker` and `thick`: as for images. */
interface CopierOptions {
  layout: PoolLayout;
  images: ImageStore;
  maker?: string;
  thick?: ThickFiles | undefined;
}

/** How pools of this type copy several images at once. */
export function copierOf(
  type: LocalPoolType,
  host: Host,
  { layout, images, maker = "", thick }: CopierOptions,
): GroupCopier {
  switch (type) {
    case "xfs":
      return reflinkCopier(layout.images, { maker, thick });
    case "btrfs":
      return subvolumeCopier(host, layout.images, layout.groupCopies);
    case "directory":
      return folderCopier(images);
  }
}

/** Folders that no pod uses are copied one by one: nothing can change meanwhile. */
function folderCopier(store: ImageStore): GroupCopier {
  return {
    atomicity: "each",
    sweep: async () => {},
    begin: async (copies) => {
      let made: Image[] = [];
      return {
        copy: async () => {
          const images: Image[] = [];
          await settled(
            copies.map(async ({ from, id, size }) => images.push(await store.clone(from, id, size))),
          );
          made = images;
        },
        finish: async () => made,
        abandon: async () => {},
      };
    },
  };
}
