import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { defined, isOutcome, type Outcome, Reconciler, source, stepFailpoints } from "@mooring/store";
import { ShareManagers } from "../../api/share-manager.ts";
import { isServed } from "../../api/volume.ts";
import { absent } from "../../pools/file-images.ts";
import { isImageId } from "../../pools/image-id.ts";
import { failure } from "../../refused.ts";
import type { AgentContext } from "../context.ts";
import type { AgentInformers } from "../controllers.ts";
import { reportFailure } from "../failure.ts";
import { applyShareStep, end, unmount } from "./apply.ts";
import { decide, type ShareStep } from "./decide.ts";
import { shareLayout } from "./layout.ts";
import { readShare, type ShareReading } from "./read.ts";

/** Short, because what the agent waits for most often, the end of a mount, sends no event. */
const BACKOFF = { maxMs: 10_000 };

const failpoints = stepFailpoints<Exclude<ShareStep, Outcome>>("engine/share", {
  mount: true,
  grow: true,
  start: true,
  admit: true,
  end: true,
  unmount: true,
  "remove-folder": true,
  record: true,
});

/** Serves volumes from this node, or ends that, as far as it can go now. */
export async function runShares(context: AgentContext, { volumes, shares }: AgentInformers): Promise<void> {
  const { store, logger, nodeID, shareLocks, signal, stateDir } = context;
  const reconciler = new Reconciler<ShareReading, ShareStep>({
    ...{ name: "node/share", store, logger, backoff: BACKOFF },
    // A server dies or falls silent, and the addresses of those who use it change, without an event.
    polls: ["start", "admit", "end", "record"],
    failpoints,
    sources: [
      source(shares, ({ metadata }) => [metadata.name]),
      source(volumes, (volume) => (isServed(volume) ? [volume.metadata.name] : [])),
    ],
    read: (name, { reader, dry }) => readShare(context, name, { store: reader.store, ...defined({ dry }) }),
    decide,
    // One after the other with the closing of its device: what was decided before that is decided again.
    apply: (step, { name }) =>
      shareLocks.run(name, async () => {
        const now = await readShare(context, name);
        const still = now === undefined ? undefined : decide(now);
        if (now !== undefined && still !== undefined && still.do === step.do && !isOutcome(still))
          await applyShareStep(context, still, now);
      }),
    failed: (name, error) =>
      reportFailure(context, { resource: ShareManagers, name }, error, { blank: { state: "error", nodeID } }),
    errorOf: failure,
  });
  // What an earlier life of the agent has served, whether there is still a record of it or not.
  for (const name of await presentShares(stateDir)) reconciler.add(name);
  await reconciler.run(signal);
}

/**
 * Makes the last steps of a share for a volume whose device is about to be closed: its server's files keep the device busy.
 */
export async function endShare(context: AgentContext, name: string): Promise<void> {
  const { host, stateDir, shareLocks } = context;
  const layout = shareLayout(stateDir, name);
  if ((await host.mounts.at(layout.mount)).length === 0) return;
  await shareLocks.run(name, async () => {
    await end(context, name, layout);
    failpoints({ do: "end" });
    await unmount(context, layout);
    failpoints({ do: "unmount" });
  });
}

/** Names of volumes that this node serves, or that an earlier life of its agent did. */
export async function presentShares(stateDir: string): Promise<string[]> {
  return ((await readdir(join(stateDir, "shares")).catch(absent)) ?? []).filter(isImageId);
}
