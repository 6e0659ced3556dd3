/** Failpoints of the agent that only the work of data services reaches. */
export const OF_JOBS: readonly string[] = [
  "engine/pool/folder-next",
  "engine/volume/hide-device",
  "engine/volume/grow-filesystem",
  "engine/volume/filesystem-grown",
  "engine/volume/image-restored",
  "engine/volume/repaired",
  "engine/volume/repair",
  "engine/volume/restore-image",
];
