import {
  DONE,
  hasFinalizer,
  isDeleting,
  type Outcome,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  wait,
} from "@mooring/store";
import { GROUP_FINALIZER } from "../common/names.ts";
import { GROUP_DRIVER } from "../common/volume-group-names.ts";
import { isOnRecord } from "../group-snapshot-content/storage-group.ts";
import { bindImported, lacksSecrets } from "./bind-imported.ts";
import { decideCreation } from "./decide-creation.ts";
import { decideDeletion, decideOrphans } from "./decide-deletion.ts";
import { misboundMembers, nextMemberWrites } from "./member-writes.ts";
import { sameGroupStatus, statusFor } from "./status.ts";
import {
  type GroupSnapshotEvent,
  type GroupSnapshotStep,
  type GroupSnapshotView,
  type ReportStep,
  refersTo,
  report,
} from "./view.ts";

/** The next step for one VolumeGroupSnapshot: what the cluster-wide snapshot-controller does. */
export function decideGroupSnapshot(view: GroupSnapshotView): GroupSnapshotStep | Outcome {
  const { group, orphans } = view;
  const left = decideOrphans(orphans);
  if (left !== undefined) return left;
  if (group === undefined || isForeign(view)) return DONE;
  if (isDeleting(group)) return decideDeletion(view, group);
  if (view.backoffMs > 0) return wait(view.backoffMs);
  if (!view.capable && view.content?.status?.readyToUse !== true) return incapable(view);
  return group.spec.source.volumeGroupSnapshotContentName === undefined
    ? decideDynamic(view, group)
    : decideImported(view, group, group.spec.source.volumeGroupSnapshotContentName);
}

/** A group belongs to the driver of its content, else of its class, else of the volumes that it selects. */
function isForeign(view: GroupSnapshotView): boolean {
  const { candidates, capable, classes, content, driver, group, groupClass } = view;
  const of =
    content?.spec.driver ?? groupClass?.driver ?? view.named?.group?.metadata.annotations?.[GROUP_DRIVER];
  if (of !== undefined) return of !== driver;
  // A group that is brought in may be of any driver that can have groups.
  if (group?.spec.source.selector === undefined) return !capable;
  const drivers = candidates.flatMap(({ volume }) => volume?.spec?.csi?.driver ?? []);
  if (drivers.length > 0) return !drivers.includes(driver);
  // No driver's yet: the process that has classes reports what is wrong.
  return classes.length > 0 && !classes.some((each) => each.driver === driver);
}

function incapable({ driver }: GroupSnapshotView): ReportStep {
  return report(
    "GroupSnapshotContentCreationFailed",
    `driver ${driver} cannot take group snapshots: it lacks CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT`,
  );
}

function decideDynamic(view: GroupSnapshotView, group: VolumeGroupSnapshot): GroupSnapshotStep | Outcome {
  const { content } = view;
  const bound = group.status?.boundVolumeGroupSnapshotContentName;
  if (content === undefined)
    return bound === undefined
      ? decideCreation(view, group)
      : report("GroupSnapshotContentMissing", `VolumeGroupSnapshotContent ${bound} is missing`);
  if (!refersTo(content, group))
    return report(
      "GroupSnapshotContentMisbound",
      `content ${content.metadata.name} belongs to another group snapshot`,
    );
  return addFinalizer(group) ?? decideMembers(view, group, content);
}

/** Pre-provisioned: an administrator made the content, for exactly this group snapshot. */
function decideImported(
  view: GroupSnapshotView,
  group: VolumeGroupSnapshot,
  name: string,
): GroupSnapshotStep | Outcome {
  const { content, groupClass } = view;
  if (content === undefined)
    return report("GroupSnapshotContentMissing", `VolumeGroupSnapshotContent ${name} is missing`);
  if (content.spec.source.groupSnapshotHandles === undefined)
    return report(
      "GroupSnapshotContentMismatch",
      `content ${name} has no group snapshot handles in its source`,
    );
  const { uid: owner, name: refName, namespace } = content.spec.volumeGroupSnapshotRef;
  const named = refName === group.metadata.name && namespace === group.metadata.namespace;
  if (!named || (owner && owner !== group.metadata.uid))
    return report("GroupSnapshotContentMisbound", `content ${name} belongs to another group snapshot`);
  const unprotected = addFinalizer(group);
  if (unprotected !== undefined) return unprotected;
  if (!owner || lacksSecrets(group, content, groupClass)) return bindImported(group, content, groupClass);
  return decideMembers(view, group, content);
}

/** First what the group needs to exist, then its members, then what users read. */
function decideMembers(
  view: GroupSnapshotView,
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): GroupSnapshotStep | Outcome {
  const { members, now } = view;
  const misbound = isOnRecord(content) ? misboundMembers(group, members) : [];
  if (misbound.length > 0) return report("GroupSnapshotContentMisbound", misbound.join("; "));
  const writes = isOnRecord(content) ? nextMemberWrites(group, content, members, now) : [];
  if (writes.length > 0) return { do: "write-members", writes };
  const isAsked =
    group.status === undefined &&
    content.status === undefined &&
    content.spec.source.volumeHandles !== undefined;
  const patience = isAsked ? view.patienceMs : 0;
  if (patience > 0) return wait(patience);
  const status = statusFor(group, content, now);
  if (sameGroupStatus(status, group.status ?? {})) return DONE;
  const events: GroupSnapshotEvent[] = [];
  const before = group.status ?? {};
  const ready = status.readyToUse === true && before.readyToUse !== true;
  const dated = status.creationTime !== undefined;
  if (dated ? before.creationTime === undefined : ready) events.push("GroupSnapshotCreated");
  if (ready) events.push("GroupSnapshotReady");
  return { do: "write-status", status, creating: isAsked, events };
}

/** The finalizer comes before anything that it protects. */
function addFinalizer(group: VolumeGroupSnapshot): GroupSnapshotStep | undefined {
  return hasFinalizer(group, GROUP_FINALIZER) ? undefined : { do: "add-finalizer" };
}
