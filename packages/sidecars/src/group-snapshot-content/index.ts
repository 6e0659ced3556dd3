import type { SidecarContext } from "../common/context.ts";
import { runContents } from "../content/index.ts";
import type { ContentOptions } from "../content/kind.ts";
import { GROUP_CONTENT } from "./kind.ts";

/** Has the driver create and delete the groups that VolumeGroupSnapshotContents stand for; names begin with `groupsnapshot-`. */
export function runGroupSnapshotContent(
  context: SidecarContext,
  given: Partial<ContentOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { namePrefix: "groupsnapshot", extraCreateMetadata: false, ...given };
  return runContents(GROUP_CONTENT, context, options, signal);
}
