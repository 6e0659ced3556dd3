import { DONE, type PersistentVolumeClaim } from "@mooring/store";

/** The claims of one pod that do not exist yet. */
export type EphemeralView = readonly PersistentVolumeClaim[];

/** Makes one claim. */
export type EphemeralStep = { do: "create-claim"; claim: PersistentVolumeClaim } | { do: "done" };

/** The next claim to make; they are made one after the other. */
export function decide([claim]: EphemeralView): EphemeralStep {
  return claim === undefined ? DONE : { do: "create-claim", claim };
}
