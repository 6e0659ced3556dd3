import type { DescField } from "@bufbuild/protobuf";
import type { Random } from "./random.ts";

/** Texts that have broken parsers, paths, shells, logs and limits. */
const TEXTS: readonly [string, ...string[]] = [
  "",
  "a",
  "volume-1",
  "../../../../etc/passwd",
  "..",
  "/",
  "a/b",
  "a\u0000b",
  "\u0007\u001b[31m",
  "line\nbreak",
  "$(reboot)",
  "; reboot",
  "--help",
  "'\"`\\",
  "é".repeat(64),
  "\u202egnp",
  "💥".repeat(40),
  "x".repeat(128),
  "x".repeat(129),
  "x".repeat(5000),
  "__proto__",
  "constructor",
  "null",
  "0",
  "-1",
  "9223372036854775808",
];

const SIZES: readonly [bigint, ...bigint[]] = [
  0n,
  1n,
  -1n,
  4096n,
  1048576n,
  1073741824n,
  2n ** 53n,
  2n ** 63n - 1n,
  -(2n ** 63n),
];
const NUMBERS: readonly [number, ...number[]] = [0, 1, -1, 2, 7, 100, 2147483647, -2147483648];

/** What is known about the plugin so far, so that requests get further than "not found". */
export interface Known {
  /** Ids and names seen in responses, by field name (`volume_id`, ...). */
  readonly ids: Map<string, string[]>;
  /** A folder that paths in requests stay below. */
  readonly folder: string;
}

/** How strange one request is: strange ones find what is not checked, plain ones get past the checks. */
export interface Mood {
  /** How likely a field is left out. */
  readonly omit: number;
  /** The same for a field that most requests do without. */
  readonly omitOptional: number;
  /** How likely a value is one that breaks things. */
  readonly strange: number;
  /** Stick to what most plugins take: a usual file system, a volume that can be written. */
  readonly plain: boolean;
}

const PLAIN: Mood = { omit: 0, omitOptional: 0.93, strange: 0, plain: true };
const TAME: Mood = { omit: 0.03, omitOptional: 0.5, strange: 0.03, plain: false };
const WILD: Mood = { omit: 0.15, omitOptional: 0.5, strange: 0.7, plain: false };
export const MOODS: readonly [Mood, ...Mood[]] = [PLAIN, PLAIN, TAME, WILD];

/** What plain requests have in fields whose values most plugins choose among. */
const USUAL: Readonly<Record<string, readonly [string, ...string[]]>> = {
  fs_type: ["", "", "ext4", "xfs"],
};
/** The same by number, for enums: mostly a single writer. */
export const USUAL_NUMBERS: Readonly<Record<string, readonly [number, ...number[]]>> = {
  mode: [1, 1, 1, 2, 5],
};

/** Where paths in requests lead, below the folder of a run. One leads out of it. */
const PATHS: readonly [string, ...string[]] = ["a", "b", "a/b", "../c", "é"];

const WORDS: readonly [string, ...string[]] = ["a", "b", "volume-1", "xfs", "ext4", "true", "42"];

const IDS_LIKE: Readonly<Record<string, string>> = {
  source_volume_id: "volume_id",
  volume_ids: "volume_id",
  source_volume_ids: "volume_id",
  snapshot_ids: "snapshot_id",
  base_snapshot_id: "snapshot_id",
  target_snapshot_id: "snapshot_id",
  id: "volume_id",
};

/** A text for a field: something known where the field names an object, a path below the folder for paths. */
export function textFor(field: DescField, known: Known, mood: Mood, random: Random): string {
  if (field.name.endsWith("_path")) return `${known.folder}/${random.pick(PATHS)}`;
  const usual = USUAL[field.name];
  if (mood.plain && usual !== undefined) return random.pick(usual);
  const ids = known.ids.get(IDS_LIKE[field.name] ?? field.name) ?? [];
  const [first, ...rest] = ids;
  const strange = random.chance(mood.strange);
  if (first !== undefined && !strange) return random.pick([first, ...rest]);
  if (field.name === "name" && !strange) return `fuzz-${random.below(20)}`;
  if (field.name.endsWith("_token") && !strange) return "";
  return anyText(mood, random);
}

/** A text for a key or a value of a map. */
export function anyText(mood: Mood, random: Random): string {
  return random.pick(random.chance(mood.strange) ? TEXTS : WORDS);
}

/** An int64 at and around the edges; mostly small ones, so that something fits. */
export function anySize(mood: Mood, random: Random): bigint {
  return random.chance(mood.strange) ? random.pick(SIZES) : BigInt(random.below(64)) * 1048576n;
}

/** An int32 at and around the edges. */
export function anyNumber(mood: Mood, random: Random): number {
  return random.chance(mood.strange) ? random.pick(NUMBERS) : random.below(10);
}
