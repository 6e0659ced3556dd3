/*
 * The functions below are part of a program that runs from their text (`node -e`, see main.ts): they use nothing but themselves and
 * what they are given.
 */

export type Pointer = unknown;
type StructType = ReturnType<typeof import("koffi").struct>;
type LoadedLibrary = ReturnType<typeof import("koffi").load>;
export type Native = ((...args: unknown[]) => number) & { async(...args: unknown[]): void };

/** A function whose text is part of the program. */
export type Part = (...args: never[]) => unknown;

export interface Library {
  koffi: typeof import("koffi");
  rbd(declaration: string): Native;
  /** Has an object of the pool do what its kind can do, with bytes that it is given. Resolves to what it says. */
  execute(object: string, method: string, given: Buffer, most: number): Promise<Buffer>;
  /** Asks the cluster's monitors. */
  monitors(command: object): Promise<unknown>;
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
export function call(native: Native, ...args: unknown[]): Promise<number> {
  return new Promise((resolve, reject) => {
    native.async(...args, (failure: unknown, result: number) => {
      if (failure !== null && failure !== undefined) reject(failure);
      else if (result < 0) reject(-result);
      else resolve(result);
    });
  });
}

export async function connect(
  koffi: typeof import("koffi"),
  place: Record<string, string>,
): Promise<Library> {
  const { pool, namespace = "" } = place;
  const rados = koffi.load("librados.so.2");
  const { cluster, io } = await openPool(rados, place);
  const idOf = rados.func("int64_t rados_ioctx_get_id(void *io)");
  const poolId = rados.func("int64_t rados_pool_lookup(void *cluster, const char *pool)");
  const librbd = koffi.load("librbd.so.1");
  const known = new Map<string, Native>();
  return {
    koffi,
    pool: io,
    namespace,
    isPool: () => poolId(cluster, pool) === idOf(io),
    rbd: (declaration) => {
      const native = known.get(declaration) ?? (librbd.func(`int ${declaration}`) as unknown as Native);
      known.set(declaration, native);
      return native;
    },
    execute: executing(rados, io),
    monitors: asking(koffi, rados, cluster),
    parentType: koffi.struct({
      ...{ poolId: "int64_t", poolName: "char *", poolNamespace: "char *" },
      ...{ imageId: "char *", imageName: "char *", trash: "bool" },
    }),
    snapshotType: koffi.struct({ id: "uint64_t", size: "uint64_t", name: "char *" }),
    watcherType: koffi.struct({ address: "char *", id: "int64_t", cookie: "uint64_t" }),
    imageType: koffi.struct({ id: "char *", name: "char *" }),
  };
}

async function openPool(
  rados: LoadedLibrary,
  { conf, user, pool, namespace }: Record<string, string>,
): Promise<{ cluster: Pointer; io: Pointer }> {
  const must = (result: number) => {
    if (result < 0) throw new Error(`cannot connect: ${-result}`);
  };
  const cluster: Pointer[] = [null];
  const io: Pointer[] = [null];
  must(rados.func("int rados_create(_Out_ void **cluster, const char *user)")(cluster, user));
  must(rados.func("int rados_conf_read_file(void *cluster, const char *path)")(cluster[0], conf));
  // Seconds. Else this process would try for five minutes.
  const set = rados.func("int rados_conf_set(void *cluster, const char *option, const char *value)");
  must(set(cluster[0], "client_mount_timeout", "30"));
  const connecting = rados.func("int rados_connect(void *cluster)") as unknown as Native;
  // In a thread of its own: this process ends meanwhile when nobody is there any more who wants it.
  await call(connecting, cluster[0]);
  const open = rados.func("int rados_ioctx_create(void *cluster, const char *pool, _Out_ void **io)");
  must(open(cluster[0], pool, io));
  rados.func("void rados_ioctx_set_namespace(void *io, const char *name)")(io[0], namespace);
  return { cluster: cluster[0], io: io[0] };
}

function executing(rados: LoadedLibrary, io: Pointer): Library["execute"] {
  const native = rados.func(
    "int rados_exec(void *io, const char *object, const char *kind, const char *method, void *in, size_t, void *out, size_t)",
  ) as unknown as Native;
  return async (object, method, given, most) => {
    const found = Buffer.alloc(most);
    const length = await call(native, io, object, "rbd", method, given, given.length, found, most);
    return found.subarray(0, length);
  };
}

function asking(koffi: typeof import("koffi"), rados: LoadedLibrary, cluster: Pointer): Library["monitors"] {
  const native = rados.func(
    "int rados_mon_command(void *cluster, const char **commands, size_t, void *in, size_t, _Out_ void **out, void *length, void *status, void *)",
  ) as unknown as Native;
  const free = rados.func("void rados_buffer_free(void *buffer)");
  return async (command) => {
    const [out, length] = [[null] as Pointer[], numberIn(8)];
    const commands = [JSON.stringify(command)];
    await call(native, cluster, commands, 1, null, 0, out, length.buffer, null, null);
    try {
      return JSON.parse(textOf(Buffer.from(koffi.view(out[0], length.value()))));
    } finally {
      free(out[0]);
    }
  };
}

/** Up to its first zero. */
export function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}

export function numberIn(size: number): { buffer: Buffer; value(): number } {
  const buffer = Buffer.alloc(size);
  return { buffer, value: () => Number(buffer.readBigUInt64LE(0)) };
}

export const CONNECTION: readonly Part[] = [call, connect, openPool, executing, asking, textOf, numberIn];
