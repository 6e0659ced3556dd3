/** Failpoints of the agent that only volumes of shared pools reach: see the crash test of the leases. */
export const OF_LEASES: readonly string[] = [
  "engine/volume/device-dropped",
  "engine/volume/image-renewed",
  "engine/volume/lease-taken",
  "engine/volume/recorded-released",
];
