import type { SidecarContext } from "../common/context.ts";
import { runContents } from "../content/index.ts";
import type { ContentOptions } from "../content/kind.ts";
import { SNAPSHOT_CONTENT } from "./kind.ts";

/** Has the driver create and delete the snapshots that VolumeSnapshotContents stand for; names begin with `snapshot-`. */
export function runSnapshotContent(
  context: SidecarContext,
  given: Partial<ContentOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { namePrefix: "snapshot", extraCreateMetadata: false, ...given };
  return runContents(SNAPSHOT_CONTENT, context, options, signal);
}
