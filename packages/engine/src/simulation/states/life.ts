import { ENGINE_FINALIZER } from "../../api/names.ts";
import type { Volume } from "../../api/volume.ts";
import { decide } from "../../node/volume/decide.ts";
import type { VolumeView } from "../../node/volume/view.ts";

/** What an agent does to a volume that is not there yet, or not for long any more, wherever it is wanted. */
export type LifeAction = "make" | "remove";

/** Its steps, by which it is known. */
const ACTIONS: Readonly<Record<string, LifeAction>> = {
  "create-image, record": "make",
  "close-device, remove-image, remove-finalizer": "remove",
};
/** None has more. */
const MOST_STEPS = 5;

/**
 * Runs the agent's decisions on a new volume without an image, or on one that goes and has image and device, until it
 * is in another state or gone. Returns what that was, and the volume as it is then. Throws when it is neither.
 */
export function liveOn(volume: Volume, nodeID: string): { action: LifeAction; end: Volume | undefined } {
  let view = viewOf(volume, nodeID);
  const steps: string[] = [];
  while (steps.length < MOST_STEPS) {
    const step = decide(view);
    steps.push(step.do);
    const action = ACTIONS[steps.join(", ")];
    if (action !== undefined) {
      return { action, end: step.do === "record" ? { ...volume, status: step.status } : undefined };
    }
    if (step.do === "create-image") view = { ...view, image: { size: volume.spec.size } };
    else if (step.do === "close-device") view = { ...view, device: undefined };
    else if (step.do === "remove-image") view = { ...view, image: undefined };
    else break;
  }
  throw new Error(`the agent does something else: ${steps.join(", ")}`);
}

function viewOf({ metadata, ...volume }: Volume, nodeID: string): VolumeView {
  const goes = metadata.deletionTimestamp !== undefined;
  const size = volume.spec.size;
  return {
    volume: { ...volume, metadata: { ...metadata, finalizers: [ENGINE_FINALIZER] } },
    nodeID,
    pool: { block: true },
    image: goes ? { size } : undefined,
    device: goes ? { path: "/dev/loop1", sizeBytes: size } : undefined,
    source: { state: "none" },
    fault: undefined,
    jobs: [],
    now: new Date(0),
  };
}
