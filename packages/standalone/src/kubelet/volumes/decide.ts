import { DONE, type Outcome, wait } from "@mooring/store";

/** How sure we are that the driver has done something: `maybe` after a restart or a failed call. */
export type Certainty = "no" | "maybe" | "yes";

/** Everything that the next step for a volume on this node depends on. */
export interface CsiVolumeView {
  /** Pods that want the volume, by uid. */
  wantedBy: readonly string[];
  /** Pods that it may be published for. `inUse`: by a pod that has not released it. */
  /** `republishInMs`: absent where once is enough. */
  publications: readonly { podUID: string; state: Certainty; inUse: boolean; republishInMs?: number }[];
  staged: Certainty;
  /** It is staged before it is published. */
  stages: boolean;
  /** The driver wants to be asked to attach before use. */
  needsAttach: boolean;
  /** node.status.volumesInUse, as we last wrote it, names the volume. */
  reportedInUse: boolean;
  /** The attach/detach controller reported it attached after that. */
  attached: boolean;
  /** The claim's file system is smaller than its volume, and the driver's node side can grow it. */
  needsExpansion: boolean;
}

/** One step for a volume on this node. */
export type CsiVolumeStep =
  | { do: "unpublish"; podUID: string }
  | { do: "report-in-use" }
  | { do: "wait-for-attach" }
  | { do: "stage" }
  | { do: "expand" }
  | { do: "publish"; podUID: string }
  /** Once more, as the driver wants it: it refreshes what the pod sees. */
  | { do: "republish"; podUID: string }
  | { do: "unstage" }
  | { do: "report-unused" }
  | { do: "wait"; ms?: number };

/** Steps that wait for another controller are no steps to apply. */
export type ActiveCsiVolumeStep = Exclude<CsiVolumeStep, { do: "wait" | "wait-for-attach" }>;

/** As {@link decideCsiVolume}, for the loop: of a volume that no pod wants any more nothing is left to do. */
export function decideStep(view: CsiVolumeView): ActiveCsiVolumeStep | Outcome {
  const step = decideCsiVolume(view);
  if (step.do !== "wait" && step.do !== "wait-for-attach") return step;
  if (isUnused(view)) return DONE;
  return step.do === "wait" && step.ms !== undefined ? wait(step.ms) : wait();
}

/** Nothing of it is left on this node, and no pod wants it. */
export function isUnused({ wantedBy, publications, staged, reportedInUse }: CsiVolumeView): boolean {
  return wantedBy.length + publications.length === 0 && staged === "no" && !reportedInUse;
}

/** The next step for one volume on this node. What is not wanted goes first: another pod may wait for it. */
export function decideCsiVolume(view: CsiVolumeView): CsiVolumeStep {
  const leaving = view.publications.find(({ podUID, inUse }) => !inUse && !view.wantedBy.includes(podUID));
  if (leaving !== undefined) return { do: "unpublish", podUID: leaving.podUID };
  if (view.wantedBy.length > 0) return decideWanted(view);
  if (view.publications.length > 0) return { do: "wait" };
  if (view.staged !== "no") return { do: "unstage" };
  return view.reportedInUse ? { do: "report-unused" } : { do: "wait" };
}

function decideWanted(view: CsiVolumeView): CsiVolumeStep {
  // First report that it is used, then read whether it is attached: the other way round it could be detached in between.
  if (view.needsAttach && !view.reportedInUse) return { do: "report-in-use" };
  if (view.needsAttach && !view.attached) return { do: "wait-for-attach" };
  if (view.stages && view.staged !== "yes") return { do: "stage" };
  const isPublished = (uid: string) =>
    view.publications.some(({ podUID, state }) => podUID === uid && state === "yes");
  // Before the first pod sees it. Later, a pod that waits for its volume comes before one that waits for more space.
  if (view.needsExpansion && !view.publications.some(({ state }) => state === "yes")) return { do: "expand" };
  const missing = view.wantedBy.find((uid) => !isPublished(uid));
  if (missing !== undefined) return { do: "publish", podUID: missing };
  return view.needsExpansion ? { do: "expand" } : decideRepublication(view);
}

function decideRepublication({ publications, wantedBy }: CsiVolumeView): CsiVolumeStep {
  const [next] = publications
    .flatMap(({ podUID, republishInMs: ms }) =>
      ms === undefined || !wantedBy.includes(podUID) ? [] : [{ podUID, ms }],
    )
    .sort((a, b) => a.ms - b.ms);
  if (next === undefined) return { do: "wait" };
  return next.ms > 0 ? { do: "wait", ms: next.ms } : { do: "republish", podUID: next.podUID };
}
