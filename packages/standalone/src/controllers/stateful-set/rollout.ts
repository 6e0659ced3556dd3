import type { ControllerRevision, Pod, StatefulSet } from "@mooring/store";
import type { SetClaim } from "./claims.ts";

export interface StatefulSetView {
  set: StatefulSet;
  /** Pods that the set manages. */
  owned: readonly Pod[];
  /** Pods that have no controller, that the selector matches, and whose names are the set's. */
  orphans: readonly Pod[];
  /** Names of its ordinals that pods of others have. */
  foreignNames: ReadonlySet<string>;
  revisions: readonly ControllerRevision[];
  /** Revisions that have no controller and that the selector matches: those of a set that was deleted without its pods. */
  orphanRevisions: readonly ControllerRevision[];
  /** Another set's revision has the name that the next one would get. */
  nameTaken: boolean;
  /** Its claims that exist, also of ordinals that it does not want any more. */
  claims: readonly SetClaim[];
  /** The API server has refused the last pod or claim of the set. */
  refused: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

export interface Rollout extends StatefulSetView {
  /** The revision of now. */
  update: ControllerRevision;
  /** The one before, until the update is complete. */
  current: ControllerRevision;
}
