import {
  type EventRecorder,
  isAlreadyExists,
  keyOf,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { createClaim } from "./apply.ts";
import { decide, type EphemeralStep, type EphemeralView } from "./decide.ts";
import { readMissingClaims } from "./read.ts";

const failpoints = stepFailpoints<EphemeralStep>("standalone/ephemeral-volumes", { "create-claim": true });

interface EphemeralOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "claims" | "pods">;
  events: EventRecorder;
  logger: Logger;
}

/** Makes the claims that pods bring along. */
export function ephemeralVolumes({ store, view, events, logger }: EphemeralOptions) {
  const claims = new WrittenCache(store, view.claims);
  return new Reconciler<EphemeralView, EphemeralStep>({
    ...{ name: "ephemeral-volumes", store, logger, failpoints },
    sources: [source(view.pods, (pod) => [keyOf(pod)])],
    watched: [view.claims],
    read: (key, context) => readMissingClaims(key, claims, view, context),
    decide,
    apply: ({ claim }) => createClaim(store, claims, claim),
    async failed(key, error) {
      const pod = view.pods.get(key);
      const message = error instanceof Error ? error.message : String(error);
      // As with a quota that is exceeded: only the pod's owner can do something about it.
      if (pod !== undefined) events.event(pod, "Warning", "FailedBinding", `ephemeral volume: ${message}`);
    },
    isOutdated: isAlreadyExists,
  });
}
