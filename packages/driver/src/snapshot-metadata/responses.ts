import { CsiError, v1 } from "@mooring/csi";
import type { Range, Window } from "@mooring/engine";

/** Ranges of one message when the caller does not set it; about 12 KiB. */
const DEFAULT_RESULTS = 1000;
/** More would make messages that a caller's default limit of 4 MiB refuses. */
const MAX_RESULTS = 100_000;

/** Where to begin: from the requested offset, up to the end of the volume. */
export function windowOf(startingOffset: bigint, size: number): Window {
  if (startingOffset < 0n || startingOffset > BigInt(size)) {
    throw CsiError.outOfRange(
      `starting_offset ${startingOffset} is not within the snapshot's ${size} bytes`,
      {
        hint: "Begin at 0, or at the end of the last range that arrived.",
      },
    );
  }
  return { from: Number(startingOffset), to: size };
}

/**
 * The messages of one stream. There is always one, so that a caller learns the capacity of a snapshot in which there
 * is nothing to report.
 */
export async function* responses(ranges: AsyncIterable<Range>, size: number, maxResults: number) {
  const most = maxResults === 0 ? DEFAULT_RESULTS : Math.min(maxResults, MAX_RESULTS);
  const message = (list: readonly Range[]) => ({
    blockMetadataType: v1.BlockMetadataType.VARIABLE_LENGTH,
    volumeCapacityBytes: BigInt(size),
    blockMetadata: list.map(({ offset, length }) => ({
      byteOffset: BigInt(offset),
      sizeBytes: BigInt(length),
    })),
  });
  let list: Range[] = [];
  let sent = false;
  for await (const range of ranges) {
    list.push(range);
    if (list.length < most) continue;
    yield message(list);
    sent = true;
    list = [];
  }
  if (list.length > 0 || !sent) yield message(list);
}
