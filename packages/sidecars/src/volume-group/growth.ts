import { defined, type PersistentVolumeClaim, parseQuantity, type StorageClass } from "@mooring/store";
import type { GrowingMember, VolumeGroup } from "../kube/volume-group.ts";
import type { Membership } from "./membership.ts";
import { type Truth, truth } from "./status.ts";
import type { Candidate, VolumeGroupView } from "./view.ts";

/** How the members stand to `spec.memberSize`. */
export interface Growth {
  /** Ask for the size in this claim, next. */
  grow?: PersistentVolumeClaim;
  status: NonNullable<NonNullable<VolumeGroup["status"]>["growth"]>;
  conditions: Record<"Expanded" | "VolumesExpanded", Truth>;
}

/** Undefined: the group asks for no size. Only claims that are in the group are grown. */
export function growthOf(
  view: VolumeGroupView,
  { spec }: VolumeGroup,
  { members }: Membership,
): Growth | undefined {
  const size = spec.memberSize;
  if (size === undefined) return undefined;
  const inside = new Set(members.filter(({ state }) => state === "Joined").map(({ claimName }) => claimName));
  const candidates = view.candidates.filter(({ claim }) => inside.has(claim.metadata.name));
  const waiting: GrowingMember[] = [];
  let grow: PersistentVolumeClaim | undefined;
  for (const candidate of candidates) {
    const { claim } = candidate;
    const claimName = claim.metadata.name;
    const found = assessSize(view, candidate, size);
    if (found === "grown") continue;
    if (found === "ask") grow ??= claim;
    waiting.push(
      found === "ask"
        ? { claimName, reason: "Growing", message: `the claim is about to ask for ${size}` }
        : { claimName, ...found },
    );
  }
  waiting.sort((a, b) => (a.claimName < b.claimName ? -1 : 1));
  const total = candidates.length;
  const status = { size, grown: total - waiting.length, total, waiting };
  return { ...defined({ grow }), status, conditions: conditionsOf(status) };
}

function assessSize(
  { refusedGrowth }: VolumeGroupView,
  { claim, storageClass }: Candidate,
  size: string,
): "grown" | "ask" | Omit<GrowingMember, "claimName"> {
  const least = parseQuantity(size);
  const asked = claim.spec?.resources?.requests?.storage;
  const has = claim.status?.capacity?.storage;
  if (has !== undefined && parseQuantity(has) >= least) return "grown";
  if (asked !== undefined && parseQuantity(asked) >= least) return underWay(claim, size);
  const forbidden = forbids(claim, storageClass);
  if (forbidden !== undefined) return { reason: "Refused", message: forbidden };
  const refusal = refusedGrowth.get(claim.metadata.uid ?? "");
  return refusal !== undefined && refusal.size === size && refusal.backoffMs > 0
    ? { reason: "Refused", message: refusal.message }
    : "ask";
}

/** What the class forbids is not asked for: the API server would refuse it as well. */
function forbids(
  { spec }: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
): string | undefined {
  const name = spec?.storageClassName;
  if (!name) return "the claim has no StorageClass, and only a class can allow it to grow";
  if (storageClass === undefined) return `StorageClass ${name} does not exist`;
  return storageClass.allowVolumeExpansion === true
    ? undefined
    : `StorageClass ${name} does not allow its volumes to grow (allowVolumeExpansion)`;
}

/** Asked for already: the resize controller reports in the claim how far it is. */
function underWay({ status }: PersistentVolumeClaim, size: string): Omit<GrowingMember, "claimName"> {
  const of = (type: string) =>
    status?.conditions?.find((each) => each.type === type && each.status === "True");
  const failed = of("ControllerResizeError") ?? of("NodeResizeError");
  if (failed !== undefined) return { reason: "Growing", message: `${failed.type}: ${failed.message ?? ""}` };
  return of("FileSystemResizePending") === undefined
    ? { reason: "Growing", message: `the claim grows to ${size}` }
    : { reason: "NodePending", message: "the volume has grown; its file system grows when a Pod uses it" };
}

/**
 * File systems grow where they are mounted: that of a claim that no Pod uses makes no user wait who only wants the volumes.
 */
function conditionsOf(status: Growth["status"]): Growth["conditions"] {
  const waiting = status.waiting.filter(({ reason }) => reason !== "NodePending");
  const volumes = conditionOf({ ...status, grown: status.total - waiting.length, waiting });
  return { VolumesExpanded: volumes, Expanded: conditionOf(status) };
}

function conditionOf({ grown, size, total, waiting }: Growth["status"]): Truth {
  const progress = `${grown} of ${total} members have ${size}`;
  if (waiting.length === 0) return truth(true, "Expanded", progress);
  const named = (reason: GrowingMember["reason"]) => waiting.filter((each) => each.reason === reason);
  const refused = named("Refused");
  const [reason, shown] =
    refused.length > 0
      ? (["GrowthRefused", refused] as const)
      : named("Growing").length > 0
        ? (["Growing", named("Growing")] as const)
        : (["NodePending", waiting] as const);
  const why = shown.slice(0, 5).map(({ claimName, message }) => `${claimName}: ${message}`);
  return truth(false, reason, [progress, ...why].join("; "));
}
