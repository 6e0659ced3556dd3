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
  /** Ids and names seen in answers, by field name (`volume_id`, ...). */
  readonly ids: Map<string, string[]>;
  /** A folder that paths in requests stay below. */
  readonly folder: string;
}

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
export function textFor(field: DescField, known: Known, random: Random): string {
  if (field.name.endsWith("_path")) return `${known.folder}/${random.pick(["a", "b", "a/b", "../c", "é"])}`;
  const ids = known.ids.get(IDS_LIKE[field.name] ?? field.name) ?? [];
  const [first, ...rest] = ids;
  if (first !== undefined && random.chance(0.6)) return random.pick([first, ...rest]);
  if (field.name === "name" && random.chance(0.6)) return `fuzz-${random.below(20)}`;
  return random.pick(TEXTS);
}

/** A text for a key or a value of a map. */
export function anyText(random: Random): string {
  return random.pick(TEXTS);
}

/** An int64 at and around the edges; mostly small ones, so that something fits. */
export function anySize(random: Random): bigint {
  return random.chance(0.5) ? BigInt(random.below(64)) * 1048576n : random.pick(SIZES);
}

/** An int32 at and around the edges. */
export function anyNumber(random: Random): number {
  return random.pick(NUMBERS);
}
