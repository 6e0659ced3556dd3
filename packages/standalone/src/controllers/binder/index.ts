import {
  EventRecorder,
  getIfAny,
  keyOf,
  type Logger,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  parseKey,
  runController,
  source,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { yieldToEventLoop } from "../yield-to-event-loop.ts";
import { applyClaimStep, applyVolumeStep } from "./apply.ts";
import { type ClaimStep, decideClaim } from "./decide-claim.ts";
import { decideVolume } from "./decide-volume.ts";
import { defaultClassOf } from "./default-class.ts";
import { createClaims } from "./ephemeral.ts";

export interface BinderOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Kinds of work in one queue, so that a claim and its volume are seen in order. */
const CLAIM = "claim:";
const VOLUME = "volume:";

/** Brings claims and volumes together, as Kubernetes' persistent volume controller does. */
export async function startBinder(options: BinderOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const events = new EventRecorder(store, { component: "persistentvolume-controller", logger });
  const breathe = yieldToEventLoop();
  const done = runController(
    {
      name: "binder",
      logger,
      concurrency: 8,
      sources: [
        source(view.claims, (claim) => [CLAIM + keyOf(claim), ...named(claim)]),
        source(view.volumes, (volume) => [VOLUME + keyOf(volume), ...concerned(view, volume)]),
        source(view.classes, ({ metadata }) =>
          [metadata.name, ""].flatMap((name) =>
            view.claims.byIndex("class", name).map((claim) => CLAIM + keyOf(claim)),
          ),
        ),
      ],
      reconcile: async (key) => {
        await breathe();
        if (key.startsWith(CLAIM)) await syncClaim(options, events, key.slice(CLAIM.length));
        else await syncVolume(options, key.slice(VOLUME.length));
      },
    },
    signal,
  );
  const ephemeral = runController(
    {
      name: "ephemeral-volumes",
      logger,
      sources: [source(view.pods, (pod) => [keyOf(pod)])],
      reconcile: (key) => createClaims(store, view, key),
    },
    signal,
  );
  return { done: Promise.all([done, ephemeral]).then(() => events.flush()) };
}

function named(claim: PersistentVolumeClaim): string[] {
  return claim.spec?.volumeName ? [VOLUME + claim.spec.volumeName] : [];
}

/** Claims that a change of the volume may matter to: its own, else those that look for one. */
function concerned(view: ClusterView, volume: PersistentVolume): string[] {
  const { claimRef, storageClassName } = volume.spec ?? {};
  const bound = view.claims.byIndex("volume", volume.metadata.name).map((claim) => CLAIM + keyOf(claim));
  if (claimRef !== undefined) return [...bound, `${CLAIM}${claimRef.namespace}/${claimRef.name}`];
  const looking = view.claims.byIndex("class", storageClassName ?? "");
  return [...bound, ...looking.map((claim) => CLAIM + keyOf(claim))];
}

async function syncClaim(
  { store, view, signal }: BinderOptions,
  events: EventRecorder,
  key: string,
): Promise<void> {
  const written = new Map<string, PersistentVolume>();
  const decide = (claim: PersistentVolumeClaim, named: PersistentVolume | undefined) => {
    const { volumeName, storageClassName = "" } = claim.spec ?? {};
    return decideClaim({
      claim,
      candidates: volumeName ? [] : candidatesOf(view, key, storageClassName, written),
      named,
      storageClass: view.classes.get(storageClassName),
      defaultClass: defaultClassOf(view.classes.list()),
    });
  };
  const cached = view.claims.get(key);
  if (cached === undefined) return;
  // Most looks find nothing to do. That much the caches know: what they have missed so far brings the claim back.
  const first = decide(cached, view.volumes.get(cached.spec?.volumeName ?? ""));
  if (first.do === "wait") return tell(events, cached, first);
  while (!signal.aborted) {
    const claim = await getIfAny(store, PersistentVolumeClaims, parseKey(key), signal);
    if (claim === undefined) return;
    const name = claim.spec?.volumeName;
    const named = name ? await getIfAny(store, PersistentVolumes, { name }, signal) : undefined;
    const step = decide(claim, named);
    tell(events, claim, step);
    if (step.do === "wait") return;
    const volume = await applyClaimStep(store, claim, step);
    if (volume !== undefined) written.set(volume.metadata.name, volume);
  }
}

function tell(events: EventRecorder, claim: PersistentVolumeClaim, step: ClaimStep): void {
  const notice = "notice" in step ? step.notice : undefined;
  if (notice !== undefined) events.event(claim, notice.type, notice.reason, notice.message);
}

/** As the caches know them, but for those that were just written: the caches may not know that yet. */
function candidatesOf(
  view: ClusterView,
  key: string,
  className: string,
  written: ReadonlyMap<string, PersistentVolume>,
): PersistentVolume[] {
  const cached = [...view.volumes.byIndex("claim", key), ...view.volumes.byIndex("class", className)];
  const others = cached.filter((volume) => !written.has(volume.metadata.name));
  return [...written.values(), ...others];
}

async function syncVolume({ store, view, signal }: BinderOptions, name: string): Promise<void> {
  const cached = view.volumes.get(name);
  if (
    cached === undefined ||
    decideVolume({ volume: cached, claim: cachedClaim(view, cached) }).do === "wait"
  )
    return;
  while (!signal.aborted) {
    const volume = await getIfAny(store, PersistentVolumes, { name }, signal);
    if (volume === undefined) return;
    const step = decideVolume({ volume, claim: await claimOf(store, volume, signal) });
    if (step.do === "wait") return;
    await applyVolumeStep(store, volume, step);
  }
}

function cachedClaim(view: ClusterView, volume: PersistentVolume): PersistentVolumeClaim | undefined {
  const { namespace, name, uid } = volume.spec?.claimRef ?? {};
  const claim = view.claims.get(`${namespace}/${name}`);
  return claim?.metadata.uid === uid ? claim : undefined;
}

/** From the store, not from a cache: a claim that is merely not in the cache yet must not release its volume. */
async function claimOf(
  store: ObjectStore,
  volume: PersistentVolume,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  const reference = volume.spec?.claimRef;
  if (!reference?.uid || !reference.name) return undefined;
  const key = { namespace: reference.namespace ?? "", name: reference.name };
  const claim = await getIfAny(store, PersistentVolumeClaims, key, signal);
  return claim?.metadata.uid === reference.uid ? claim : undefined;
}
