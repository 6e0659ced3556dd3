/** Failpoints of the agent that only the work of data services reaches. */
export const OF_JOBS: readonly string[] = [
  "engine/pool/folder-next",
  "engine/volume/device-hidden",
  "engine/volume/expansion-recorded",
  "engine/volume/filesystem-grown",
  "engine/volume/image-restored",
  "engine/volume/repaired",
  "engine/volume/repair-recorded",
  "engine/volume/restore-recorded",
];
