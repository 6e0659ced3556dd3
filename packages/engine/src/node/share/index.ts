import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ReconcileResult } from "@mooring/store";
import { ShareManagers } from "../../api/share-manager.ts";
import { converge } from "../../converge.ts";
import { absent } from "../../pools/file-images.ts";
import { isImageId } from "../../pools/image-id.ts";
import type { AgentContext } from "../context.ts";
import { reportFailure } from "../failure.ts";
import { applyShareStep, end, unmount } from "./apply.ts";
import { decide } from "./decide.ts";
import { shareLayout } from "./layout.ts";
import { readShare, type ShareReading } from "./read.ts";

/** Serves a volume from this node, or ends that, as far as it can go now. Throws, after reporting, to be tried again. */
export async function reconcileShare(context: AgentContext, name: string): Promise<ReconcileResult> {
  try {
    // One after the other with the closing of its device: what is decided holds until it is done.
    return await context.shareLocks.run(name, () =>
      converge({
        read: () => readShare(context, name),
        decide: (view: ShareReading) => decide(view),
        apply: (step, view) => applyShareStep(context, step, view),
      }),
    );
  } catch (error) {
    await reportFailure(context, ShareManagers, name, error, { state: "error", nodeID: context.nodeID });
    throw error;
  }
}

/** Ends the serving of a volume whose device is about to be closed: its server's files keep the device busy. */
export async function endShare(context: AgentContext, name: string): Promise<void> {
  const { host, stateDir, shareLocks } = context;
  const layout = shareLayout(stateDir, name);
  if ((await host.mounts.at(layout.mount)).length === 0) return;
  await shareLocks.run(name, async () => {
    await end(context, name, layout);
    await unmount(context, layout);
  });
}

/** Names of volumes that this node serves, or that an earlier life of its agent did. */
export async function presentShares(stateDir: string): Promise<string[]> {
  return ((await readdir(join(stateDir, "shares")).catch(absent)) ?? []).filter(isImageId);
}
