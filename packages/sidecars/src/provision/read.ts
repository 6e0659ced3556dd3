import {
  defined,
  getIfAny,
  hasFinalizer,
  isForbidden,
  isNotFound,
  keyOf,
  type PersistentVolumeClaim,
  type StorageClass,
  VolumeAttributesClasses,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import type { Intent, SourceRef } from "../common/create-volume/intent.ts";
import { dataSourceOf, dataSourceReference, isElsewhere, isGranted } from "../common/data-source.ts";
import { csiNodeHere, nodeHere } from "../common/here.ts";
import { CLONE_SOURCE_FINALIZER, SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";
import { ReferenceGrants } from "../kube/data-sources.ts";
import { selectedNodeOf, volumeNameFor, wantsVolume } from "./claim.ts";
import type { SourceObjects } from "./data-source.ts";
import type { CallResult, ProvisionView } from "./decide.ts";
import { type Plan, type PlanInput, type ProvisionOptions, plan, type SourceRules } from "./plan.ts";

/** What is known about one claim UID, and the key of the request that the driver would get. */
interface ClaimInput {
  view: Omit<ProvisionView, "backoffMs" | "mayExist">;
  requestKey: () => string;
}

/** How far the claim's volume is. */
interface Progress {
  result: CallResult | undefined;
  record: Intent | undefined;
  /** See `isOpenElsewhere` of the journal. */
  openElsewhere: boolean;
  fresh: boolean;
}

/**
 * What the decision about the claim of this UID depends on. `fresh`: the server is asked for the objects themselves.
 */
export async function readClaim(
  context: SidecarContext,
  options: ProvisionOptions,
  uid: string,
  { result, record, openElsewhere, fresh }: Progress,
): Promise<ClaimInput> {
  const { cluster, driver, here } = context;
  let [claim] = cluster.claims.byIndex("uid", uid);
  if (fresh) {
    if (claim !== undefined) claim = await cluster.claims.refresh(keyOf(claim));
    if (claim?.metadata.uid !== uid) claim = undefined;
  }
  const name =
    record?.arguments.name ?? volumeNameFor(uid, options.volumeNamePrefix, options.volumeNameUuidLength);
  if (fresh) await cluster.volumes.refresh(name);
  const storageClass = cluster.classes.get(claim?.spec?.storageClassName ?? "");
  const isChosen = here === undefined || (claim !== undefined && selectedNodeOf(claim) === here.node);
  const elsewhere = openElsewhere || !isChosen;
  const volume = cluster.volumes.get(name);
  // Nothing is planned where a volume has been made.
  const isPlanned = record === undefined && volume === undefined && !elsewhere;
  const planned =
    isPlanned && claim !== undefined && wantsVolume(claim, storageClass, driver.info.name)
      ? await makePlan(context, options, claim, { storageClass, fresh })
      : undefined;
  const intent = record ?? (planned?.kind === "intent" ? planned.intent : undefined);
  return {
    view: {
      driver: driver.info,
      claim,
      storageClass,
      elsewhere,
      record,
      volume,
      result,
      plan: planned,
      sourceProtected: intent?.source === undefined || isProtected(context, intent.source),
    },
    requestKey: () => requestKeyOf(intent, planned),
  };
}

/** Equal requests get equal results, so a back-off lasts as long as the request stays the same. */
function requestKeyOf(intent: Intent | undefined, planned: Plan | undefined): string {
  return JSON.stringify(intent ?? planned ?? null);
}

/** The arguments of CreateVolume for a claim, from the objects that it and its class refer to. */
export async function makePlan(
  context: SidecarContext,
  options: ProvisionOptions,
  claim: PersistentVolumeClaim,
  { storageClass, fresh }: { storageClass: StorageClass | undefined; fresh: boolean },
): Promise<Plan | undefined> {
  if (storageClass === undefined) return undefined;
  const { cluster, driver, hasAttributesClasses, store } = context;
  const attributes = claim.spec?.volumeAttributesClassName;
  // The server is asked, as the class may be newer than the cache; its next change is to wake the claim.
  if (hasAttributesClasses && attributes) cluster.attributesClasses.get(attributes);
  const sourceRules = await readSourceRules(context, claim);
  return plan({
    claim,
    storageClass,
    driver: driver.info,
    options,
    // Nothing of a source that the claim may not refer to gets into its events.
    source: sourceRules.granted ? await readSource(context, claim, fresh) : {},
    sourceRules,
    ...placesFor(context),
    attributesClass: attributes
      ? await getIfAny(store, VolumeAttributesClasses, { name: attributes })
      : undefined,
  });
}

/** Where the driver has volumes. One that works for its node needs no other. */
function placesFor({ cluster, driver, here }: SidecarContext): Pick<PlanInput, "nodes" | "csiNodes"> {
  if (here !== undefined) return { nodes: [nodeHere(here)], csiNodes: [csiNodeHere(here, driver.info.name)] };
  if (!driver.info.topology) return { nodes: [], csiNodes: [] };
  return { nodes: cluster.nodes.list(), csiNodes: cluster.csiNodes.list() };
}

async function readSourceRules(context: SidecarContext, claim: PersistentVolumeClaim): Promise<SourceRules> {
  const reference = dataSourceReference(claim);
  if (reference === undefined) return { granted: true, unpopulated: false };
  const { apiGroup, kind } = reference;
  const { cluster, hasPopulators } = context;
  return {
    granted:
      !isElsewhere(claim, reference) ||
      isGranted(claim, reference, await grantsIn(context, reference.namespace)),
    unpopulated:
      hasPopulators && cluster.populators.byIndex("sourceKind", `${kind}.${apiGroup}`).length === 0,
  };
}

/** A kind that has just been installed is not followed yet: see `awaitSourceKinds` of term.ts. */
async function grantsIn({ cluster, hasReferenceGrants, store }: SidecarContext, namespace: string) {
  if (hasReferenceGrants) return cluster.referenceGrants.byIndex("namespace", namespace);
  try {
    return (await store.list(ReferenceGrants, { namespace })).items;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return [];
    throw error;
  }
}

/** The objects behind a claim's data source, where the claim may refer to it. */
export async function readSource(
  { cluster, hasSnapshotKinds }: Pick<SidecarContext, "cluster" | "hasSnapshotKinds">,
  claim: PersistentVolumeClaim,
  fresh: boolean,
): Promise<SourceObjects> {
  const source = dataSourceOf(claim);
  if (!("name" in source)) return {};
  const key = keyOf({ metadata: source });
  if (source.kind === "PersistentVolumeClaim") {
    const of = fresh ? await cluster.claims.refresh(key) : cluster.claims.get(key);
    const volume = cluster.volumes.get(of?.spec?.volumeName ?? "");
    return { ...defined({ claim: of, volume }) };
  }
  if (!hasSnapshotKinds) return {};
  const snapshot = fresh ? await cluster.snapshots.refresh(key) : cluster.snapshots.get(key);
  const content = cluster.contents.get(snapshot?.status?.boundVolumeSnapshotContentName ?? "");
  return {
    ...defined({ snapshot, content }),
  };
}

function isProtected({ cluster, hasSnapshotKinds }: SidecarContext, source: SourceRef): boolean {
  const key = keyOf({ metadata: source });
  if (source.kind === "VolumeSnapshot") {
    const snapshot = hasSnapshotKinds ? cluster.snapshots.get(key) : undefined;
    return snapshot?.metadata.uid === source.uid && hasFinalizer(snapshot, SNAPSHOT_SOURCE_FINALIZER);
  }
  const claim = cluster.claims.get(key);
  return claim?.metadata.uid === source.uid && hasFinalizer(claim, CLONE_SOURCE_FINALIZER);
}
