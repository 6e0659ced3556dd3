import { LOCAL_POOL_TYPES } from "@mooring/engine";
import { parseQuantity } from "@mooring/store";
import { InvalidArgumentError, Option } from "commander";

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

/** `--pool-size`, of a pool that is made on first use. */
export function poolSizeOption(): Option {
  return new Option(
    "--pool-size <size>",
    "size of the pool file; a larger one than before grows it, a smaller one is refused (default: 20Gi, or as it is)",
  ).argParser(poolSize);
}

/** `--pool`, of a pool that is there. */
export function poolOption(): Option {
  const description =
    "kind of the node's own pool; when it is full its writers fail (the default), or wait where spec.holdWriters of the Pool is true";
  return new Option("--pool <type>", description).choices(LOCAL_POOL_TYPES).default("xfs");
}

/** Volumes are thin: a pool may promise more than it has when the operator asks for that. */
export function overcommitOption(): Option {
  return new Option(
    "--pool-overcommit <factor>",
    "all volumes together may be so many times the size of the pool (default: 1, or as it is)",
  ).argParser((text: string) => {
    const factor = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && factor >= 1 && factor <= 1000) return factor;
    throw new InvalidArgumentError("a number from 1 (nothing more than there is) to 1000");
  });
}
