import {
  addFinalizer,
  isNotFound,
  type KubeObject,
  keyOf,
  type Logger,
  type ObjectKey,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  parseKey,
  type Resource,
  removeFinalizer,
  runController,
  source,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { claimKeysOf } from "../pod-claims.ts";
import { yieldToEventLoop } from "../yield-to-event-loop.ts";
import { CLAIM_FINALIZER, decideClaim, decideVolume, type Protection, VOLUME_FINALIZER } from "./decide.ts";

export interface ProtectionOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Keeps claims that pods use, and volumes that claims use, from vanishing. */
export async function startProtection(options: ProtectionOptions): Promise<{ done: Promise<void> }> {
  const { view, logger, signal } = options;
  const breathe = yieldToEventLoop();
  const claims = runController(
    {
      name: "pvc-protection",
      sources: [source(view.claims, (claim) => [keyOf(claim)]), source(view.pods, claimKeysOf)],
      reconcile: async (key) => {
        await breathe();
        await protectClaim(options, key);
      },
      logger,
    },
    signal,
  );
  const volumes = runController(
    {
      name: "pv-protection",
      sources: [source(view.volumes, (volume) => [keyOf(volume)])],
      reconcile: async (key) => {
        await breathe();
        await protectVolume(options, key);
      },
      logger,
    },
    signal,
  );
  return { done: Promise.all([claims, volumes]).then(() => {}) };
}

async function protectClaim({ store, view, signal }: ProtectionOptions, key: string): Promise<void> {
  const claim = view.claims.get(key);
  if (claim === undefined) return;
  let decision = decideClaim(claim, view.pods.byIndex("claim", key));
  if (decision === "remove") {
    // The cache may not know the newest pod yet, and taking the finalizer away cannot be undone.
    const namespace = claim.metadata.namespace ?? "";
    decision = decideClaim(claim, (await store.list(Pods, { namespace, signal })).items);
  }
  await apply(store, PersistentVolumeClaims, parseKey(key), decision, CLAIM_FINALIZER, signal);
}

async function protectVolume({ store, view, signal }: ProtectionOptions, key: string): Promise<void> {
  const volume = view.volumes.get(key);
  if (volume === undefined) return;
  await apply(store, PersistentVolumes, parseKey(key), decideVolume(volume), VOLUME_FINALIZER, signal);
}

async function apply<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  key: ObjectKey,
  decision: Protection,
  finalizer: string,
  signal: AbortSignal,
): Promise<void> {
  if (decision === "remove") await removeFinalizer(store, resource, key, finalizer, signal);
  if (decision !== "add") return;
  try {
    await addFinalizer(store, resource, key, finalizer, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
