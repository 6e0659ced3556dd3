export { atRest, backlogs, findSleepers, lastingSleepers, type Sleeper } from "./at-rest.ts";
export {
  type ReadContext,
  type ReconcileContext,
  ReconcileFailure,
  type ReconcilerOptions,
  type WatchedInformer,
} from "./contract.ts";
export { queueCounts, type ReconcileCounts, reconcileCounts, takeEndless } from "./metrics.ts";
export { DONE, isOutcome, type Outcome, wait } from "./outcome.ts";
export type { Cached, Collection, Reader } from "./reader.ts";
export { Reconciler } from "./reconciler.ts";
export { type ControllerSource, source } from "./source.ts";
export { type StepFailpoints, stepFailpoints } from "./step-failpoints.ts";
