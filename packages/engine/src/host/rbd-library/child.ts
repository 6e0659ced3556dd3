import type { LibraryCall } from "./calls.ts";

/** What the process of the library is sent. */
export interface LibraryOrder {
  id: number;
  call: LibraryCall;
}

/** What it responds: the outcome, or the number of an error. `ready`, once, when it is connected. */
export type LibraryReply =
  | { ready: true }
  | { id: number; value: unknown }
  /** `absent`: there is no such image, in a pool and a namespace that are there. */
  | { id: number; errno: number; absent: boolean };

/** Of an image, as librbd has it. */
export interface LibraryInfo {
  name: string;
  id: string;
  size: number;
  features: number;
  /** Seconds since 1970, UTC. */
  madeAt: number;
  parent?: { id: string; trash: boolean };
}

/** An image in a list. */
export interface LibraryImage {
  image: string;
  /** Bytes. */
  size: number;
}

/*
 * The functions below are a program that runs from their text (`node -e`), as the one that starts programs does: they use
 * nothing but themselves and what they are given.
 */

type Pointer = unknown;
type StructType = ReturnType<typeof import("koffi").struct>;
type Native = ((...args: unknown[]) => number) & { async(...args: unknown[]): void };

interface Library {
  koffi: typeof import("koffi");
  rbd(declaration: string): Native;
  /** `rados_exec`: what objects of the cluster do by themselves. */
  exec: Native;
  pool: Pointer;
  namespace: string;
  /** The pool that is called so is still the one that was opened. */
  isPool(): boolean;
  parentType: StructType;
  snapshotType: StructType;
  watcherType: StructType;
  imageType: StructType;
}

/** Calls in a thread of its own; throws the number of its error. */
function call(native: Native, ...args: unknown[]): Promise<number> {
  return new Promise((resolve, reject) => {
    native.async(...args, (failure: unknown, result: number) => {
      if (failure !== null && failure !== undefined) reject(failure);
      else if (result < 0) reject(-result);
      else resolve(result);
    });
  });
}

function connect(
  koffi: typeof import("koffi"),
  { conf, user, pool, namespace }: Record<string, string>,
): Library {
  const rados = koffi.load("librados.so.2");
  const librbd = koffi.load("librbd.so.1");
  const must = (result: number) => {
    if (result < 0) throw new Error(`cannot connect: ${-result}`);
  };
  const cluster: Pointer[] = [null];
  const place: Pointer[] = [null];
  must(rados.func("int rados_create(_Out_ void **cluster, const char *user)")(cluster, user));
  must(rados.func("int rados_conf_read_file(void *cluster, const char *path)")(cluster[0], conf));
  // Seconds. Else this process would try for five minutes, also when nobody is there any more who wants it to.
  const set = rados.func("int rados_conf_set(void *cluster, const char *option, const char *value)");
  must(set(cluster[0], "client_mount_timeout", "30"));
  must(rados.func("int rados_connect(void *cluster)")(cluster[0]));
  const open = rados.func("int rados_ioctx_create(void *cluster, const char *pool, _Out_ void **io)");
  must(open(cluster[0], pool, place));
  rados.func("void rados_ioctx_set_namespace(void *io, const char *name)")(place[0], namespace);
  const known = new Map<string, Native>();
  const idOf = rados.func("int64_t rados_ioctx_get_id(void *io)");
  const poolId = rados.func("int64_t rados_pool_lookup(void *cluster, const char *pool)");
  return {
    isPool: () => poolId(cluster[0], pool) === idOf(place[0]),
    koffi,
    pool: place[0],
    namespace: namespace ?? "",
    rbd: (declaration) => {
      const native = known.get(declaration) ?? (librbd.func(`int ${declaration}`) as unknown as Native);
      known.set(declaration, native);
      return native;
    },
    exec: rados.func(
      "int rados_exec(void *io, const char *object, const char *kind, const char *method, void *in, size_t, void *out, size_t)",
    ) as unknown as Native,
    parentType: koffi.struct({
      ...{ poolId: "int64_t", poolName: "char *", poolNamespace: "char *" },
      ...{ imageId: "char *", imageName: "char *", trash: "bool" },
    }),
    snapshotType: koffi.struct({ id: "uint64_t", size: "uint64_t", name: "char *" }),
    watcherType: koffi.struct({ address: "char *", id: "int64_t", cookie: "uint64_t" }),
    imageType: koffi.struct({ id: "char *", name: "char *" }),
  };
}

/** Does it with an image open. Who only reads is no watcher of it. */
async function withImage<T>(
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

/** Up to its first zero. */
function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}

function numberIn(size: number): { buffer: Buffer; value(): number } {
  const buffer = Buffer.alloc(size);
  return { buffer, value: () => Number(buffer.readBigUInt64LE(0)) };
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
async function readSize({ exec, pool }: Library, id: string): Promise<number | undefined> {
  const snapshot = Buffer.alloc(8);
  snapshot.writeBigInt64LE(-2n);
  const found = Buffer.alloc(9);
  try {
    await call(exec, pool, `rbd_header.${id}`, "rbd", "get_size", snapshot, 8, found, found.length);
    return Number(found.readBigUInt64LE(1));
  } catch (error) {
    if (error === 2) return undefined;
    throw error;
  }
}

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

/** What is read of an image. */
function readOne(library: Library, order: LibraryCall): Promise<unknown> | undefined {
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
    default:
      return undefined;
  }
}

/** What changes an image that is opened for it. */
function changeOne(library: Library, order: LibraryCall): Promise<unknown> | undefined {
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
function changeName(library: Library, order: LibraryCall): Promise<unknown> {
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

/** Whether pool and namespace are there: an image that is not there has the same number of error as these. */
async function hasNamespace(library: Library): Promise<boolean> {
  if (!library.isPool()) return false;
  if (library.namespace === "") return true;
  const out = Buffer.alloc(1);
  const native = library.rbd("rbd_namespace_exists(void *io, const char *name, void *out)");
  return (await call(native, library.pool, library.namespace, out).catch(() => -1)) === 0 && out[0] === 1;
}

async function carryOut(library: Library, { id, call: order }: LibraryOrder): Promise<LibraryReply> {
  try {
    const done = readOne(library, order) ?? changeOne(library, order) ?? changeName(library, order);
    return { id, value: await done };
  } catch (error) {
    const errno = typeof error === "number" ? error : 5;
    return { id, errno, absent: errno === 2 && (await hasNamespace(library)) };
  }
}

function libraryMain(require: NodeJS.Require): void {
  const [, koffiPath = "", place = "{}"] = process.argv;
  // Whoever sent it ends it; a connection to a cluster that is silent could not be closed.
  const end = () => process.kill(process.pid, "SIGKILL");
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  const send = (reply: LibraryReply) => process.stdout.write(`${JSON.stringify(reply)}\n`);
  const library = connect(require(koffiPath), JSON.parse(place));
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) void carryOut(library, JSON.parse(line)).then(send);
  });
  for (const event of ["end", "error"]) process.stdin.on(event, end);
  process.stdout.on("error", end);
  send({ ready: true });
}

const PARTS = [
  ...[call, connect, withImage, textOf, numberIn, readInfo, readParent, readSnapshots, readWatchers],
  ...[readGroups, readImages, readImageNames, readSize, withOptions, readOne, changeOne, changeName, hasNamespace, carryOut],
];

/** `__name` is what some compilers put into the text of a function. */
export const LIBRARY_PROGRAM: string = `const __name = (f) => f;
${PARTS.map(String).join("\n")}
(${String(libraryMain)})(require);`;
