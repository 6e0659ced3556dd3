import type { PersistentVolumeClaim, StorageClass } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { type Here, ifHere, isElsewhere } from "../common/here.ts";
import { SELECTED_NODE } from "../common/names.ts";
import { volumeNameFor } from "../provision/claim.ts";
import type { ProvisionOptions } from "../provision/plan.ts";
import { makePlan, readSource } from "../provision/read.ts";
import type { Attempts } from "./attempts.ts";
import { type CapacityRequest, isUnowned, type OwnershipView } from "./decide.ts";

interface Reading {
  here: Here;
  options: ProvisionOptions;
  attempts: Attempts;
}

/** Everything that the next step for the claim of this key depends on. `fresh`: the server is asked for the claim. */
export async function readOwnership(
  context: SidecarContext,
  { here, options, attempts }: Reading,
  key: string,
  fresh: boolean,
): Promise<OwnershipView> {
  const { cluster, driver } = context;
  const claim = fresh ? await cluster.claims.refresh(key) : cluster.claims.get(key);
  const storageClass = cluster.classes.get(claim?.spec?.storageClassName ?? "");
  const view: OwnershipView = {
    ...{ driver: driver.info, here, claim, storageClass },
    ...{ isUnderWay: false, sourceElsewhere: false, request: undefined, hasRoom: undefined, delayMs: 0 },
  };
  if (claim === undefined || storageClass === undefined || !isUnowned(view)) return view;
  const uid = claim.metadata.uid ?? "";
  const delayMs = attempts.remaining(uid);
  const name = volumeNameFor(uid, options.volumeNamePrefix, options.volumeNameUuidLength);
  return {
    ...view,
    isUnderWay: cluster.volumes.get(name) !== undefined || cluster.records.byIndex("uid", uid).length > 0,
    sourceElsewhere: await isSourceElsewhere(context, claim),
    request: delayMs > 0 ? undefined : await requestFor(context, { here, options }, claim, storageClass),
    hasRoom: attempts.hasRoom(uid),
    delayMs,
  };
}

/** True when another node has the claim's source: that one makes the copy. */
async function isSourceElsewhere(context: SidecarContext, claim: PersistentVolumeClaim): Promise<boolean> {
  const { content, volume } = await readSource(context, claim, false);
  if (volume !== undefined && ifHere(context.here, volume) === undefined) return true;
  return content !== undefined && isElsewhere(context.here, content);
}

/** The request as it would be if the claim were this node's. */
async function requestFor(
  context: SidecarContext,
  { here, options }: Pick<Reading, "here" | "options">,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): Promise<CapacityRequest | undefined> {
  const annotations = { ...claim.metadata.annotations, [SELECTED_NODE]: here.node };
  const ours = { ...claim, metadata: { ...claim.metadata, annotations } };
  const plan = await makePlan(context, options, ours, { storageClass, fresh: false });
  if (plan?.kind !== "intent") return undefined;
  const { parameters, capacityRange, accessibilityRequirements } = plan.intent.arguments;
  return {
    bytes: BigInt(capacityRange.requiredBytes),
    parameters,
    places: accessibilityRequirements?.requisite ?? [here.segments],
  };
}
