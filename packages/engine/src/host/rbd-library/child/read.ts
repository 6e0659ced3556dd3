import type { LibraryCall } from "../calls.ts";
import { call, type Library, numberIn, type Part, type Pointer, textOf } from "./connect.ts";
import type { LibraryImage, LibraryInfo } from "./messages.ts";

/*
 * The functions below are part of a program that runs from their text (`node -e`, see main.ts): they use nothing but themselves and
 * what they are given.
 */

/** Does it with an image open. Who only reads is no watcher of it. */
export async function withImage<T>(
  library: Library,
  image: { name: string } | { id: string },
  writable: boolean,
  work: (image: Pointer) => Promise<T>,
): Promise<T> {
  const out: Pointer[] = [null];
  const how = writable ? "" : "_read_only";
  const by = "id" in image ? "_by_id" : "";
  const open = library.rbd(`rbd_open${by}${how}(void *io, const char *image, _Out_ void **out, void *at)`);
  await call(open, library.pool, "id" in image ? image.id : image.name, out, null);
  try {
    return await work(out[0]);
  } finally {
    await call(library.rbd("rbd_close(void *image)"), out[0]);
  }
}

async function readInfo(library: Library, image: Pointer): Promise<LibraryInfo> {
  const [size, features, time] = [numberIn(8), numberIn(8), numberIn(16)];
  const [name, id, length] = [Buffer.alloc(256), Buffer.alloc(256), numberIn(8)];
  length.buffer.writeBigUInt64LE(256n);
  await call(library.rbd("rbd_get_size(void *image, void *out)"), image, size.buffer);
  await call(library.rbd("rbd_get_features(void *image, void *out)"), image, features.buffer);
  await call(library.rbd("rbd_get_create_timestamp(void *image, void *out)"), image, time.buffer);
  await call(library.rbd("rbd_get_id(void *image, void *out, size_t length)"), image, id, id.length);
  await call(library.rbd("rbd_get_name(void *image, void *out, void *length)"), image, name, length.buffer);
  const parent = await readParent(library, image);
  const info: LibraryInfo = {
    ...{ name: textOf(name), id: textOf(id), size: size.value(), features: features.value() },
    madeAt: time.value(),
  };
  if (parent !== undefined) info.parent = parent;
  return info;
}

async function readParent(library: Library, image: Pointer): Promise<LibraryInfo["parent"]> {
  const { koffi, parentType, snapshotType } = library;
  const parent = koffi.alloc(parentType, 1);
  const snapshot = koffi.alloc(snapshotType, 1);
  try {
    await call(
      library.rbd("rbd_get_parent(void *image, void *parent, void *snapshot)"),
      image,
      parent,
      snapshot,
    );
    const { imageId, trash } = koffi.decode(parent, parentType) as { imageId: string; trash: boolean };
    library.rbd("rbd_linked_image_spec_cleanup(void *parent)")(parent);
    library.rbd("rbd_snap_spec_cleanup(void *snapshot)")(snapshot);
    return { id: imageId, trash };
  } catch (error) {
    if (error === 2) return undefined;
    throw error;
  } finally {
    koffi.free(parent);
    koffi.free(snapshot);
  }
}

/** Namespace types of an image's snapshots; 0 is what users make. */
async function readSnapshots(library: Library, image: Pointer): Promise<number[]> {
  const { koffi, snapshotType } = library;
  const most = Buffer.alloc(4);
  most.writeInt32LE(64);
  const list = koffi.alloc(snapshotType, 64);
  try {
    const count = await call(
      library.rbd("rbd_snap_list(void *image, void *list, void *most)"),
      ...[image, list, most],
    );
    if (count === 0) return [];
    const found = koffi.decode(list, koffi.array(snapshotType, count)) as { id: number }[];
    library.rbd("rbd_snap_list_end(void *list)");
    const types: number[] = [];
    for (const { id } of found) {
      const type = Buffer.alloc(4);
      const read = library.rbd("rbd_snap_get_namespace_type(void *image, uint64_t id, void *out)");
      await call(read, image, id, type);
      types.push(type.readInt32LE(0));
    }
    return types;
  } finally {
    koffi.free(list);
  }
}

/** Addresses of the clients that have an image open. */
async function readWatchers(library: Library, image: Pointer): Promise<string[]> {
  const { koffi, watcherType: type } = library;
  const most = numberIn(8);
  most.buffer.writeBigUInt64LE(64n);
  const list = koffi.alloc(type, 64);
  try {
    const read = library.rbd("rbd_watchers_list(void *image, void *list, void *most)");
    await call(read, image, list, most.buffer);
    // An array of nothing is no type.
    if (most.value() === 0) return [];
    const found = koffi.decode(list, koffi.array(type, most.value())) as { address: string }[];
    library.rbd("rbd_watchers_list_cleanup(void *list, size_t count)")(list, found.length);
    return found.map(({ address }) => address);
  } finally {
    koffi.free(list);
  }
}

async function readGroups(library: Library): Promise<string[]> {
  const names = Buffer.alloc(65_536);
  const size = numberIn(8);
  size.buffer.writeBigUInt64LE(BigInt(names.length));
  const read = library.rbd("rbd_group_list(void *io, void *names, void *size)");
  const length = await call(read, library.pool, names, size.buffer);
  return names
    .toString("utf8", 0, length)
    .split("\0")
    .filter((name) => name !== "");
}

/** All images, without those in the trash. */
async function readImages(library: Library): Promise<LibraryImage[]> {
  const found = await readImageNames(library);
  const images: LibraryImage[] = [];
  const next = found.values();
  const lane = async () => {
    for (const { id, name } of next) {
      const size = await readSize(library, id);
      if (size !== undefined) images.push({ image: name, size });
    }
  };
  // Not all of the threads: other calls are not to wait for a list of thousands.
  await Promise.all(Array.from({ length: 8 }, lane));
  return images;
}

async function readImageNames(library: Library): Promise<{ id: string; name: string }[]> {
  const { koffi, imageType: type, pool } = library;
  const read = library.rbd("rbd_list2(void *io, void *images, void *most)");
  for (let room = 256; ; room *= 2) {
    const most = numberIn(8);
    most.buffer.writeBigUInt64LE(BigInt(room));
    const list = koffi.alloc(type, room);
    try {
      await call(read, pool, list, most.buffer);
      const count = most.value();
      if (count === 0) return [];
      const found = koffi.decode(list, koffi.array(type, count)) as { id: string; name: string }[];
      library.rbd("rbd_image_spec_list_cleanup(void *images, size_t count)")(list, count);
      return found;
    } catch (error) {
      // ERANGE: there are more.
      if (error !== 34) throw error;
    } finally {
      koffi.free(list);
    }
  }
}

/**
 * Asked of the image's header, as librbd does when it opens one, which takes a dozen requests: cls_rbd's `get_size` of no snapshot.
 * Undefined: it was removed meanwhile.
 */
async function readSize(library: Library, id: string): Promise<number | undefined> {
  const snapshot = Buffer.alloc(8);
  snapshot.writeBigInt64LE(-2n);
  try {
    const found = await library.execute(`rbd_header.${id}`, "get_size", snapshot, 9);
    return Number(found.readBigUInt64LE(1));
  } catch (error) {
    if (error === 2) return undefined;
    throw error;
  }
}

/** What an image says of itself under a name, asked of its header as well. */
async function readMetadata(library: Library, id: string, key: string): Promise<string> {
  const text = Buffer.from(key);
  const given = Buffer.alloc(4 + text.length);
  given.writeUInt32LE(text.length);
  text.copy(given, 4);
  const found = await library.execute(`rbd_header.${id}`, "metadata_get", given, 4096);
  return found.toString("utf8", 4, 4 + found.readUInt32LE(0));
}

/** What is read of an image. */
export function readOne(library: Library, order: LibraryCall): Promise<unknown> | undefined {
  switch (order.do) {
    case "info":
      return withImage(library, order, false, (image) => readInfo(library, image));
    case "info-by-id":
      return withImage(library, { id: order.imageId }, false, (image) => readInfo(library, image));
    case "snapshots":
      return withImage(library, order, false, (image) => readSnapshots(library, image));
    case "watchers":
      return withImage(library, order, false, (image) => readWatchers(library, image));
    case "groups":
      return readGroups(library);
    case "images":
      return readImages(library);
    case "metadata":
      return readMetadata(library, order.imageId, order.key);
    case "room":
      return library.monitors({ prefix: "df", detail: "detail", format: "json" });
    default:
      return undefined;
  }
}

export const READS: readonly Part[] = [
  ...[withImage, readOne, readInfo, readParent, readSnapshots, readWatchers, readGroups],
  ...[readImages, readImageNames, readSize, readMetadata],
];
