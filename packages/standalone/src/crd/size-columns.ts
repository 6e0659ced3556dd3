import { MOORING_GROUP } from "@mooring/engine";
import { describeBytes } from "@mooring/store";
import type { Column } from "../kinds/kind-info.ts";
import { readPath } from "./simple-path.ts";

/** Fields of our kinds that are sizes in bytes, and have a column. */
const SIZES: ReadonlySet<string> = new Set([
  ".status.totalBytes",
  ".status.freeBytes",
  ".status.promisedBytes",
  ".status.thickBytes",
  ".status.restoreSize",
  ".spec.size",
]);

/**
 * The same column; a size of our kinds is shown as `19.5Gi`, as claims show theirs. A definition has no way to ask for that, so in a
 * cluster the column has the bytes of the field.
 */
export function withReadableSize(group: string, column: Column): Column {
  if (!("jsonPath" in column)) return column;
  const { jsonPath, ...header } = column;
  if (group !== MOORING_GROUP || header.type !== "integer" || !SIZES.has(jsonPath)) return column;
  return {
    ...header,
    type: "string",
    description: "Rounded; the field has the bytes.",
    value: (object) => {
      const bytes = readPath(object, jsonPath);
      return typeof bytes === "number" ? short(bytes) : null;
    },
  };
}

/** `19.5 GiB` in the letters of a quantity. */
const short = (bytes: number): string =>
  describeBytes(bytes)
    .replace(/ (.)iB$/, "$1i")
    .replace(/ B$/, "");
