import {
  EventRecorder,
  keyOf,
  type Logger,
  type ObjectStore,
  type ReadContext,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { ephemeralVolumes } from "../ephemeral-volumes/index.ts";
import { applyClaimStep, applyVolumeStep, type BinderEffects } from "./apply.ts";
import { type ClaimStep, decideUnreported } from "./decide-claim.ts";
import { decideVolume, type VolumeStep, type VolumeView } from "./decide-volume.ts";
import { type ReadClaim, readClaim, readVolume } from "./read.ts";
import { Reports } from "./reports.ts";

interface BinderOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Kinds of work in one queue, so that a claim and its volume are seen in order. */
const CLAIM = "claim:";
const VOLUME = "volume:";

type BinderView = { claim: ReadClaim } | { volume: VolumeView };
type BinderStep = ClaimStep | VolumeStep;

const failpoints = stepFailpoints<BinderStep>("standalone/binder", {
  "set-class": true,
  reserve: true,
  "mark-volume-bound": true,
  "bind-claim": true,
  "set-bound-status": true,
  "request-provisioning": true,
  report: true,
  "set-phase": true,
  unreserve: true,
  "reset-reservation": true,
});

/** Brings claims and volumes together, as Kubernetes' persistent volume controller does. */
export async function startBinder(options: BinderOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const events = new EventRecorder(store, { component: "persistentvolume-controller", logger });
  const reports = new Reports();
  const effects = { store, events, view, volumes: new WrittenCache(store, view.volumes), reports };
  const binder = new Reconciler<BinderView, BinderStep>({
    ...{ name: "binder", store, logger, failpoints, concurrency: 8 },
    sources: [
      source(view.claims, (claim) => [CLAIM + keyOf(claim)]),
      source(view.volumes, (volume) => [VOLUME + keyOf(volume)]),
    ],
    watched: [view.classes],
    read: (key, context) => read(key, effects, context),
    decide: (read) => ("claim" in read ? decideUnreported(read.claim) : decideVolume(read.volume)),
    apply: (step, read) => apply(step, read, effects),
    ended: async (key) => {
      const name = key.slice(CLAIM.length);
      if (key.startsWith(CLAIM) && view.claims.get(name) === undefined) reports.forget(name);
    },
  });
  const done = Promise.all([binder.run(signal), ephemeralVolumes({ ...options, events }).run(signal)]);
  return { done: done.then(() => events.flush()) };
}

async function read(
  key: string,
  from: Parameters<typeof readClaim>[1],
  context: ReadContext,
): Promise<BinderView | undefined> {
  if (key.startsWith(CLAIM)) {
    const claim = await readClaim(key.slice(CLAIM.length), from, context);
    return claim && { claim };
  }
  const volume = await readVolume(key.slice(VOLUME.length), from, context);
  return volume && { volume };
}

function apply(step: BinderStep, read: BinderView, effects: BinderEffects): Promise<void> {
  // Sound: steps of claims are decided from claims, and those of volumes from volumes.
  return "claim" in read
    ? applyClaimStep(effects, read.claim.claim, step as ClaimStep)
    : applyVolumeStep(effects, read.volume.volume, step as VolumeStep);
}
