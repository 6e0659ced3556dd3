import { DONE, type Outcome } from "@mooring/store";

/** What is known about an object that is, or was, the source of new volumes. */
export interface SourceView {
  /** It carries the finalizer of its kind. */
  isProtected: boolean;
  /** It belongs to this driver: other provisioners use the same finalizers for theirs. */
  ours: boolean;
  deleting: boolean;
  /** CreateVolume calls from it whose outcome is not settled. */
  running: number;
  /** Claims that want to be made from it. */
  waiting: number;
}

/** The only step: the finalizer goes. */
export type SourceStep = { do: "release" };

/**
 * A source must outlive every copy that may be under way. Claims that merely wait for it keep the finalizer, to save
 * writes, but never delay its deletion: they may never get their turn.
 */
export function decideSource(view: SourceView): SourceStep | Outcome {
  const { isProtected, ours, deleting, running, waiting } = view;
  const free = isProtected && ours && running === 0 && (deleting || waiting === 0);
  return free ? { do: "release" } : DONE;
}
