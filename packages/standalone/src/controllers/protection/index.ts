import {
  keyOf,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { applyProtection } from "./apply.ts";
import {
  CLAIM_FINALIZER,
  type ClaimView,
  decideClaim,
  decideVolume,
  type ProtectionStep,
  VOLUME_FINALIZER,
  type VolumeView,
} from "./decide.ts";
import { readClaim, readVolume } from "./read.ts";

const claimFailpoints = stepFailpoints<ProtectionStep>("standalone/pvc-protection", {
  "add-finalizer": true,
  "remove-finalizer": true,
});
const volumeFailpoints = stepFailpoints<ProtectionStep>("standalone/pv-protection", {
  "add-finalizer": true,
  "remove-finalizer": true,
});

interface ProtectionOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Keeps claims that pods use, and volumes that claims use, from vanishing. */
export async function startProtection(options: ProtectionOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const ofClaims = { store, cache: new WrittenCache(store, view.claims), signal };
  const ofVolumes = { store, cache: new WrittenCache(store, view.volumes), signal };
  const claims = new Reconciler<ClaimView, ProtectionStep>({
    ...{ name: "pvc-protection", store, logger, failpoints: claimFailpoints },
    sources: [source(view.claims, (claim) => [keyOf(claim)])],
    watched: [view.pods],
    read: (key, context) => readClaim(key, ofClaims.cache, view, context),
    decide: decideClaim,
    apply: (step, { object }) => applyProtection(step, object, CLAIM_FINALIZER, ofClaims),
  });
  const volumes = new Reconciler<VolumeView, ProtectionStep>({
    ...{ name: "pv-protection", store, logger, failpoints: volumeFailpoints },
    sources: [source(view.volumes, (volume) => [keyOf(volume)])],
    read: (key, context) => readVolume(key, ofVolumes.cache, context),
    decide: decideVolume,
    apply: (step, { object }) => applyProtection(step, object, VOLUME_FINALIZER, ofVolumes),
  });
  return { done: Promise.all([claims.run(signal), volumes.run(signal)]).then(() => {}) };
}
