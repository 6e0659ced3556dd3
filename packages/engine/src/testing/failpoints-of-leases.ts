/** Failpoints of the agent that only volumes of shared pools reach: see the crash test of the leases. */
export const OF_LEASES: readonly string[] = [
  "engine/volume/drop-device",
  "engine/volume/guard-device",
  "engine/volume/renew-image",
  "engine/volume/take-lease",
  "engine/volume/record-released",
];
