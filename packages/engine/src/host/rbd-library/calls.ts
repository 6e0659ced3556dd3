/** What is done in one call of Ceph's library, instead of by a program. */
export type LibraryCall =
  | { do: "info"; name: string }
  | { do: "info-by-id"; imageId: string }
  | { do: "snapshots"; name: string }
  | { do: "watchers"; name: string }
  | { do: "groups" }
  | { do: "images" }
  | { do: "metadata"; imageId: string; key: string }
  | { do: "room" }
  | { do: "create"; name: string; size: number; features?: number }
  | { do: "clone"; image: string; snapshot: string; name: string; features?: number }
  | { do: "create-snapshot" | "remove-snapshot"; image: string; snapshot: string }
  | { do: "rename"; name: string; to: string }
  | { do: "resize"; name: string; size: number }
  | { do: "move-to-trash"; name: string }
  | { do: "remove-from-trash"; imageId: string };

/** Whose cluster. */
export interface LibraryCluster {
  conf: string;
  user: string;
}

/** Whose images, in which cluster. */
export interface LibraryPlace extends LibraryCluster {
  pool: string;
  /** Empty: the one without a name. */
  namespace: string;
}

/** Features of images, as librbd.h and the kernel number them. */
export const FEATURE_BITS: Readonly<Record<string, number>> = {
  ...{ layering: 1, striping: 2, "exclusive-lock": 4, "object-map": 8, "fast-diff": 16, "deep-flatten": 32 },
  ...{ journaling: 64, "data-pool": 128, operations: 256, migrating: 512, "non-primary": 1024 },
};

/** The names of features, as the program prints them. */
export function featureNames(features: number): string[] {
  return Object.entries(FEATURE_BITS).flatMap(([name, bit]) => ((features & bit) === 0 ? [] : [name]));
}

const NAME = "([^@/\\s]+)";
const PLACE = /^--conf (\S+) --id (\S+)(?: --pool (\S+)(?: --namespace (\S+))?)? (.*)$/;
const OPTIONAL_FEATURES = "(?: --image-feature (\\S+))?";

/** What the library is to do: with the images of a pool, or with their cluster. */
export interface LibraryOrder {
  at: LibraryPlace | LibraryCluster;
  call: LibraryCall;
}

type Make = (...groups: (string | undefined)[]) => LibraryCall | undefined;

/**
 * The arguments of `rbd` behind those that say where, and what they are. Of what the program prints the library gives what pools
 * read: an import, which reads more of `info`, has programs only (`createHost()` without `server`).
 */
const CALLS: readonly (readonly [string, Make])[] = [
  [`info --format json ${NAME}`, (name = "") => ({ do: "info", name })],
  [`info --format json --image-id ${NAME}`, (imageId = "") => ({ do: "info-by-id", imageId })],
  [`snap ls --all --format json ${NAME}`, (name = "") => ({ do: "snapshots", name })],
  [`status --format json ${NAME}`, (name = "") => ({ do: "watchers", name })],
  ["group ls --format json", () => ({ do: "groups" })],
  // To the program the same as `--long`, by which whoever needs snapshots as well asks: these the library does not list.
  ["ls -l --format json", () => ({ do: "images" })],
  [
    `create --size (\\d+)B${OPTIONAL_FEATURES} ${NAME}`,
    (size, names, name = "") => withFeatures({ do: "create", name, size: Number(size) }, names),
  ],
  [
    `clone --dest-pool \\S+(?: --dest-namespace \\S+)?${OPTIONAL_FEATURES} ${NAME}@${NAME} ${NAME}`,
    (names, image = "", snapshot = "", name = "") =>
      withFeatures({ do: "clone", image, snapshot, name }, names),
  ],
  [
    `snap create --no-progress ${NAME}@${NAME}`,
    (image = "", snapshot = "") => ({ do: "create-snapshot", image, snapshot }),
  ],
  [
    `snap rm --no-progress ${NAME}@${NAME}`,
    (image = "", snapshot = "") => ({ do: "remove-snapshot", image, snapshot }),
  ],
  [`rename ${NAME} ${NAME}`, (name = "", to = "") => ({ do: "rename", name, to })],
  [
    `resize --no-progress --size (\\d+)B ${NAME}`,
    (size, name = "") => ({ do: "resize", name, size: Number(size) }),
  ],
  [`trash mv ${NAME}`, (name = "") => ({ do: "move-to-trash", name })],
  [`trash rm --no-progress ${NAME}`, (imageId = "") => ({ do: "remove-from-trash", imageId })],
];

/** The same of each program. */
const PROGRAMS: Readonly<Record<string, readonly (readonly [string, Make])[]>> = {
  rbd: CALLS,
  rados: [
    // The metadata of an image as its header has it: `rbd` opens the image for writing to read it.
    [
      "getomapval rbd_header\\.([0-9a-z]+) metadata_(\\S+)",
      (imageId = "", key = "") => ({ do: "metadata", imageId, key }),
    ],
  ],
  ceph: [["df detail --format json", () => ({ do: "room" })]],
};
const PATTERNS = new Map(
  Object.entries(PROGRAMS).map(([program, calls]) => [
    program,
    calls.map(([pattern, make]) => [new RegExp(`^${pattern}$`), make] as const),
  ]),
);

/** What a program with these arguments does, when the library does it; undefined: the program is to. */
export function callOf(program: string, args: readonly string[]): LibraryOrder | undefined {
  const patterns = PATTERNS.get(program);
  // Joined, a blank inside of one would be taken for two.
  if (patterns === undefined || args.some((arg) => arg === "" || /\s/.test(arg))) return undefined;
  const { at, rest } = whereOf(args.join(" "));
  if (at === undefined || (program !== "ceph") !== "pool" in at) return undefined;
  for (const [pattern, make] of patterns) {
    const [, ...groups] = pattern.exec(rest) ?? [undefined];
    const call = pattern.test(rest) ? make(...groups) : undefined;
    if (call !== undefined) return { at, call };
  }
  return undefined;
}

function whereOf(text: string): { at?: LibraryPlace | LibraryCluster; rest: string } {
  const [, conf = "", user = "", pool, namespace = "", rest = ""] = PLACE.exec(text) ?? [];
  if (user === "") return { rest };
  return { at: pool === undefined ? { conf, user } : { conf, user, pool, namespace }, rest };
}

/** Undefined when the library may not know one of them. */
function withFeatures<C extends LibraryCall>(call: C, names: string | undefined): C | undefined {
  if (names === undefined) return call;
  const bits = names.split(",").map((name) => FEATURE_BITS[name]);
  if (bits.includes(undefined)) return undefined;
  return { ...call, features: bits.reduce<number>((sum, bit) => sum + (bit ?? 0), 0) };
}
