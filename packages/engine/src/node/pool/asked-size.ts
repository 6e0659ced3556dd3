import { describeBytes, formatQuantity } from "@mooring/store";
import { MOORING_GROUP } from "../../api/names.ts";
import type { Pool } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";

/** On a Pool: the size that a start has asked for last, in bytes. The pool may have been grown since. */
const ASKED_SIZE = `${MOORING_GROUP}/asked-size`;

/** The annotation of a pool for which so many bytes were asked. */
export function askedSize(bytes: number): Record<string, string> {
  return { [ASKED_SIZE]: String(bytes) };
}

/**
 * Grows a pool to what a start asks for. The size that it was asked for before is fine as well, however large it has become
 * since; another one that is smaller is refused with FAILED_PRECONDITION, as no pool gets smaller.
 */
export function askForSize({ metadata, spec, status }: Pool, bytes: number): void {
  // One that could never be made has no size yet, whatever was asked for.
  const size = status?.totalBytes === undefined ? 0 : (spec.size ?? 0);
  if (bytes < size && metadata.annotations?.[ASKED_SIZE] !== String(bytes)) {
    const message = `pool "${metadata.name}" has ${describeBytes(size)}, and is to have ${describeBytes(bytes)}: no pool gets smaller`;
    throw new EngineError("FAILED_PRECONDITION", message, {
      hint: `ask for no size, which leaves it as it is, or for at least ${formatQuantity(BigInt(size))}`,
    });
  }
  metadata.annotations = { ...metadata.annotations, ...askedSize(bytes) };
  spec.size = Math.max(size, bytes);
}

/** How a pool is larger than what a start asks for, and what to start with; undefined when it is not. */
export function describeLarger({ metadata, spec: { size = 0 } }: Pool, bytes: number): string | undefined {
  if (size <= bytes) return undefined;
  const sizes = `has ${describeBytes(size)}, more than the ${describeBytes(bytes)} that it is started with`;
  return `pool "${metadata.name}" ${sizes}, and keeps them, as no pool gets smaller: start with --pool-size ${formatQuantity(BigInt(size))}, or without --pool-size`;
}
