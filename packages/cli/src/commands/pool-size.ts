import { parseQuantity } from "@mooring/store";
import { InvalidArgumentError, Option } from "commander";

const GIB = 1024 ** 3;
/** Below it there is no XFS. */
const MINIMUM = 300 * 1024 ** 2;

/** `20Gi` in bytes. */
function poolSize(text: string): number {
  const bytes = quantity(text);
  if (bytes >= MINIMUM && bytes <= Number.MAX_SAFE_INTEGER) return bytes;
  throw new InvalidArgumentError("Use at least 300Mi; write it like 20Gi.");
}

function quantity(text: string): number {
  try {
    return Number(parseQuantity(text));
  } catch {
    throw new InvalidArgumentError("It is not a size; write it like 20Gi.");
  }
}

export function poolSizeOption(): Option {
  return new Option("--pool-size <size>", "size of the pool file; a larger one grows it")
    .argParser(poolSize)
    .default(20 * GIB, "20Gi");
}
