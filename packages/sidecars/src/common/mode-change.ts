import type { VolumeSnapshotContent } from "@mooring/store";
import { ALLOW_MODE_CHANGE } from "./names.ts";

/** Reading a file system as a block device, or the reverse, is a privilege that the content's owner grants. */
export function allowsModeChange({ metadata }: VolumeSnapshotContent): boolean {
  return /^(1|t|T|true|TRUE|True)$/.test(metadata.annotations?.[ALLOW_MODE_CHANGE] ?? "");
}

/** What the owner of a content has to do. */
export function modeChangeNeeds({ metadata: { name } }: VolumeSnapshotContent): string {
  return `that needs the annotation ${ALLOW_MODE_CHANGE}="true" on content ${name}`;
}
