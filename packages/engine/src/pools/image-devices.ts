import type { AttachOptions, LoopAttachment, LoopDevice, LoopDevices } from "../host/host.ts";
import type { Image } from "./image.ts";

/**
 * How images of a pool become block devices of this node. Which device an image has is in sysfs, whatever made it:
 * `Host.loops` finds it by `Image.path`.
 */
export interface ImageDevices {
  /** The image's device, made where there is none. */
  attach(image: Image, options?: Pick<AttachOptions, "discard">): Promise<LoopDevice>;
  /** The image's device, from the first moment on one that nothing gets through; also while another node has the image open. */
  withhold(image: Pick<Image, "id" | "path">): Promise<LoopDevice>;
  /** What is withheld works from now on, with the size that the image has. No other node has it open. */
  restore(image: Pick<Image, "id" | "path">, device: LoopAttachment): Promise<void>;
  /** Addresses of those who have the image open for this node, by which the storage can refuse them; none where it refuses nobody. */
  clients(image: Pick<Image, "id" | "path">): Promise<string[]>;
  /** As in {@link LoopDevices}; with the device goes whatever was made for it. */
  detach(device: LoopAttachment, options?: { lastUser?: boolean }): Promise<void>;
}

/** Of images that are files: a loop device needs nothing else. */
export function fileDevices(loops: LoopDevices): ImageDevices {
  return {
    attach: ({ path }, options) => loops.attach(path, options),
    withhold: ({ path }) => loops.attachWithheld(path),
    restore: (_image, device) => loops.restore(device),
    clients: async () => [],
    detach: (device, options) => loops.detach(device, options),
  };
}
