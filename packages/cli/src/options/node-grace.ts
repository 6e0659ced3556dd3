import { Option } from "commander";
import { CommandError } from "../output/command-error.ts";
import { duration } from "./duration.ts";

/** How long a silent node is believed to be there. */
export interface NodeGrace {
  /** Milliseconds. */
  nodeGrace: number;
  /** Milliseconds. */
  leaseDuration: number;
}

/** A node that is suspect must have lost its leases by itself, whatever became of their records. */
export function graceFor({ nodeGrace, leaseDuration }: NodeGrace): number {
  if (nodeGrace >= 2 * leaseDuration) return nodeGrace;
  throw new CommandError("--node-grace is shorter than two lives of a lease", {
    next: `use at least ${(2 * leaseDuration) / 1000}s, or a shorter --lease-duration`,
  });
}

/** `--node-grace`. */
export function nodeGraceOption(): Option {
  return new Option("--node-grace <time>", "a node that does not respond for so long is suspect")
    .argParser(duration)
    .default(40_000, "40s");
}
