import { type PersistentVolumeClaim, parseQuantity, type StorageClass } from "@mooring/store";
import { allowsModeChange, modeChangeNeeds } from "../common/mode-change.ts";
import type { ClaimOverrides, MemberStatus, VolumeGroupRestore } from "../kube/group-restore.ts";
import { claimNameFor } from "./claim-names.ts";
import type { Member } from "./members.ts";
import type { GroupRestoreView } from "./view.ts";

const DEFAULT_CLASS = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

interface Problem {
  reason: string;
  problem: string;
}

/** What the claim of one member will be: the member's overrides, the restore's defaults, the source claim, in this order. */
export function planMember(
  view: GroupRestoreView,
  restore: VolumeGroupRestore,
  member: Member,
  driver: string,
): MemberStatus | Problem {
  const { snapshot, sourceClaim } = member;
  const own = restore.spec.members?.find(({ claim }) => claim === sourceClaim);
  const source = view.claims.get(sourceClaim);
  const wish: ClaimOverrides = { ...restore.spec.defaults, ...own };
  const size = sizeOf(member, wish, source);
  if (typeof size !== "string") return size;
  const storageClass = classOf(view, wish, { source, sourceClaim }, driver);
  if ("problem" in storageClass) return storageClass;
  const volumeMode = modeOf(member, wish, source);
  if (typeof volumeMode !== "string") return volumeMode;
  return {
    sourceClaim,
    snapshotName: snapshot.metadata.name,
    snapshotUID: snapshot.metadata.uid ?? "",
    claimName: claimNameFor(restore, sourceClaim, own),
    storageClassName: storageClass.metadata.name,
    size,
    accessModes: wish.accessModes ?? source?.spec?.accessModes ?? ["ReadWriteOnce"],
    volumeMode,
    phase: "Pending",
    message: "the claim will be made",
  };
}

/** The restore size unless something larger is asked for; the source claim stands in where the driver reports no size. */
function sizeOf(
  { snapshot, sourceClaim }: Member,
  wish: ClaimOverrides,
  source: PersistentVolumeClaim | undefined,
): string | Problem {
  const least = snapshot.status?.restoreSize;
  if (wish.size !== undefined) {
    if (least === undefined || parseQuantity(wish.size) >= parseQuantity(least)) return wish.size;
    return {
      reason: "SizeTooSmall",
      problem: `${sourceClaim}: size ${wish.size} is less than ${least}, the restore size of VolumeSnapshot ${snapshot.metadata.name}`,
    };
  }
  const before = source?.spec?.resources?.requests?.storage;
  if (least !== undefined) return least;
  if (before !== undefined) return before;
  return {
    reason: "SizeUnknown",
    problem: `${sourceClaim}: neither VolumeSnapshot ${snapshot.metadata.name} nor a source claim has its size; set spec.members[].size`,
  };
}

/** The snapshot's own; a wish counts where it has none, or where its content allows another one. */
function modeOf(
  { content, sourceClaim }: Member,
  { volumeMode: wanted }: ClaimOverrides,
  source: PersistentVolumeClaim | undefined,
): MemberStatus["volumeMode"] | Problem {
  const taken = content?.spec.sourceVolumeMode;
  if (content === undefined || taken === undefined)
    return wanted ?? (source?.spec?.volumeMode === "Block" ? "Block" : "Filesystem");
  if (wanted === undefined || wanted === taken) return taken;
  if (allowsModeChange(content)) return wanted;
  return {
    reason: "VolumeModeMismatch",
    problem: `${sourceClaim}: volumeMode ${wanted}, but the snapshot is of a volume in mode ${taken}: ${modeChangeNeeds(content)}`,
  };
}

function classOf(
  { classes }: GroupRestoreView,
  wish: ClaimOverrides,
  { source, sourceClaim }: { source: PersistentVolumeClaim | undefined; sourceClaim: string },
  driver: string,
): StorageClass | Problem {
  const name = wish.storageClassName ?? (source?.spec?.storageClassName || undefined);
  const found =
    name === undefined ? defaultClass(classes) : classes.find(({ metadata }) => metadata.name === name);
  if (found === undefined)
    return {
      reason: "StorageClassMissing",
      problem:
        name === undefined
          ? `${sourceClaim}: the source claim is gone and there is no default StorageClass; set spec.defaults.storageClassName`
          : `${sourceClaim}: StorageClass ${name} does not exist`,
    };
  if (found.provisioner === driver) return found;
  return {
    reason: "StorageClassMismatch",
    problem: `${sourceClaim}: StorageClass ${found.metadata.name} is for ${found.provisioner}, the snapshot is of ${driver}`,
  };
}

/** The newest, as the API server chooses. */
function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const age = ({ metadata }: StorageClass) => metadata.creationTimestamp ?? "";
  return classes
    .filter(({ metadata }) => DEFAULT_CLASS.some((key) => metadata.annotations?.[key] === "true"))
    .sort((a, b) => age(b).localeCompare(age(a)) || a.metadata.name.localeCompare(b.metadata.name))[0];
}
