/** `google.protobuf.Timestamp`, absent where a driver gives none. */
export type WireTime = { seconds: bigint; nanos: number } | undefined;

/** Nanoseconds since the epoch; undefined for the first second of 1970, which is how drivers in Go leave a time out. */
export function nanoseconds(time: WireTime): number | undefined {
  if (time === undefined || (time.seconds === 0n && time.nanos === 0)) return undefined;
  return Number(time.seconds * 1_000_000_000n + BigInt(time.nanos));
}
