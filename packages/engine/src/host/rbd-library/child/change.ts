import type { LibraryCall } from "../calls.ts";
import { call, type Library, type Part, type Pointer } from "./connect.ts";
import { withImage } from "./read.ts";

/*
 * The functions below are part of a program that runs from their text (`node -e`, see main.ts): they use nothing but themselves and
 * what they are given.
 */

/** Hands the options with which an image is made to `make`. */
async function withOptions(
  library: Library,
  features: number | undefined,
  make: (options: Pointer) => Promise<number>,
): Promise<number> {
  const out: Pointer[] = [null];
  library.rbd("rbd_image_options_create(_Out_ void **out)")(out);
  try {
    // librbd.h: RBD_IMAGE_OPTION_FEATURES
    const set = library.rbd("rbd_image_options_set_uint64(void *options, int which, uint64_t value)");
    if (features !== undefined) await call(set, out[0], 1, features);
    return await make(out[0]);
  } finally {
    library.rbd("rbd_image_options_destroy(void *options)")(out[0]);
  }
}

/** What changes an image that is opened for it. */
export function changeOne(library: Library, order: LibraryCall): Promise<unknown> | undefined {
  switch (order.do) {
    case "create-snapshot":
    case "remove-snapshot": {
      const how = order.do === "create-snapshot" ? "create" : "remove";
      const native = library.rbd(`rbd_snap_${how}(void *image, const char *snapshot)`);
      return withImage(library, { name: order.image }, true, (image) => call(native, image, order.snapshot));
    }
    case "resize": {
      const declaration = "rbd_resize2(void *image, uint64_t size, bool shrink, void *progress, void *data)";
      const native = library.rbd(declaration);
      return withImage(library, order, true, (image) => call(native, image, order.size, false, null, null));
    }
    default:
      return undefined;
  }
}

/** What is done to a name of the pool. */
export function changeName(library: Library, order: LibraryCall): Promise<unknown> {
  const { pool } = library;
  switch (order.do) {
    case "create": {
      const native = library.rbd("rbd_create4(void *io, const char *name, uint64_t size, void *options)");
      const make = (options: Pointer) => call(native, pool, order.name, order.size, options);
      return withOptions(library, order.features, make);
    }
    case "clone": {
      const declaration =
        "rbd_clone3(void *io, const char *image, const char *at, void *to, const char *name, void *options)";
      const native = library.rbd(declaration);
      const { image, snapshot, name } = order;
      const make = (options: Pointer) => call(native, pool, image, snapshot, pool, name, options);
      return withOptions(library, order.features, make);
    }
    case "rename":
      return call(
        library.rbd("rbd_rename(void *io, const char *name, const char *to)"),
        pool,
        order.name,
        order.to,
      );
    case "move-to-trash":
      return call(
        library.rbd("rbd_trash_move(void *io, const char *name, uint64_t delay)"),
        pool,
        order.name,
        0,
      );
    case "remove-from-trash":
      return call(
        library.rbd("rbd_trash_remove(void *io, const char *id, bool force)"),
        pool,
        order.imageId,
        false,
      );
    default:
      return Promise.reject(new Error(`nothing is known of ${order.do}`));
  }
}

export const CHANGES: readonly Part[] = [withOptions, changeOne, changeName];
