/** File systems on volumes: what the node's stage, expand and statistics steps and snapshots need. */
export { type CheckPolicy, checkFilesystem } from "./filesystem/check.ts";
export { hasOwnErrorPolicy } from "./filesystem/ext4-superblock.ts";
export { type Extent, fileExtents } from "./filesystem/extents.ts";
export { type Frozen, freeze } from "./filesystem/freeze.ts";
export { growMounted, growUnmounted } from "./filesystem/grow.ts";
export { type MakeFilesystem, makeFilesystem } from "./filesystem/make.ts";
export { deviceSize, type ProbeResult, probe, probeEdges } from "./filesystem/probe.ts";
export { allocatedRanges, changedRanges, type Range, type Window } from "./filesystem/ranges.ts";
export * from "./filesystem/repair.ts";
export { FILESYSTEM_TYPES, FILESYSTEMS, type FilesystemType } from "./filesystem/types.ts";
export { type FilesystemUsage, filesystemUsage, filesystemUsageApart } from "./filesystem/usage.ts";
