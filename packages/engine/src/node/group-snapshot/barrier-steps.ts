import type { NodeBarrier } from "../../api/group-snapshot.ts";

/** What a node reports of a barrier that is over. */
export type BarrierReport = Required<
  Pick<NodeBarrier, "methods" | "startTime" | "endTime" | "pauseMilliseconds" | "heldThroughCut">
>;

/** The steps of one node's part of a barrier, in their order; what a session is made of. */
export interface BarrierSteps {
  prepare(): Promise<void>;
  quiesce(): Promise<void>;
  copy(): Promise<void>;
  release(): Promise<void>;
  finish(): Promise<BarrierReport>;
  /** At any time instead of the next. */
  abandon(): Promise<void>;
  /** The failure of a copy that took longer than writers may wait. */
  late(): Error;
}
