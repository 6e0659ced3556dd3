import { DONE, hasFinalizer, isDeleting } from "@mooring/store";
import { lockOf } from "../common/member-lock.ts";
import {
  MEMBER_FINALIZER,
  VOLUME_GROUP_BEING_CREATED,
  VOLUME_GROUP_CONTENT_FINALIZER,
  VOLUME_GROUP_FINALIZER,
} from "../common/volume-group-names.ts";
import type { VolumeGroupContent } from "../kube/volume-group.ts";
import { objectionTo } from "./assess-claim.ts";
import { isFor } from "./content-for.ts";
import { recordResult } from "./record.ts";
import { isBackingOff, report } from "./report.ts";
import { requestKeyOfSet } from "./request-key.ts";
import { ending } from "./status.ts";
import type { Decision } from "./step.ts";
import type { Candidate, VolumeGroupView } from "./view.ts";

/**
 * The next step for a group that is being deleted, and for a content whose group is gone. It needs neither class nor
 * secret: everything is in the content. Without a content nothing is known of the storage system, and nothing is done to it.
 */
export function decideEnd(view: VolumeGroupView): Decision {
  const content = ownContent(view);
  if (content === undefined) return releaseClaims(view) ?? releaseGroup(view);
  if (content.spec.driver !== view.driver) return DONE;
  const { storage } = view;
  if (storage.result !== undefined) return recordResult(content, storage.result, { desired: [] }, view.now);
  const isUsed = content.spec.volumeGroupRef.uid !== undefined;
  if (!isUsed) return isDeleting(content) ? releaseContent(content) : DONE;
  if (isNowhere(view, content)) return cleanUp(view, content);
  return content.spec.deletionPolicy === "Retain" ? retain(view, content) : remove(view, content);
}

/** The content of the group; undefined when the group was never bound to it, and so decides nothing about it. */
function ownContent({ content, group }: VolumeGroupView): VolumeGroupContent | undefined {
  if (content === undefined || group === undefined) return content;
  return isFor(content, group) && content.spec.volumeGroupRef.uid !== undefined ? content : undefined;
}

/** Nothing on the storage system is left, or ever was. */
function isNowhere({ storage }: VolumeGroupView, content: VolumeGroupContent): boolean {
  if (storage.provenGone) return true;
  if (handleOf(content) !== undefined) return false;
  const wasTried = content.metadata.annotations?.[VOLUME_GROUP_BEING_CREATED] !== undefined;
  return !wasTried || storage.failures.get("create")?.conclusive === true;
}

const handleOf = ({ spec, status }: VolumeGroupContent): string | undefined =>
  status?.volumeGroupHandle ?? spec.source?.volumeGroupHandle;

/** The claims that have the finalizer of the group. */
function protectedBy({ candidates, content, group }: VolumeGroupView): { each: Candidate; handle: string }[] {
  const uid = group?.metadata.uid ?? content?.spec.volumeGroupRef.uid;
  return candidates.flatMap((each) => {
    const lock = lockOf(each.claim);
    return lock !== undefined && lock.uid === uid ? [{ each, handle: lock.handle }] : [];
  });
}

function releaseClaims(view: VolumeGroupView): Decision | undefined {
  return releasing(protectedBy(view));
}

function releasing(claims: readonly { each: Candidate }[]): Decision | undefined {
  return claims.length === 0
    ? undefined
    : { do: "release-claims", claims: claims.map(({ each }) => each.claim) };
}

function releaseGroup({ group }: VolumeGroupView): Decision {
  return group !== undefined && hasFinalizer(group, VOLUME_GROUP_FINALIZER) ? { do: "release-group" } : DONE;
}

function releaseContent(content: VolumeGroupContent): Decision {
  return hasFinalizer(content, VOLUME_GROUP_CONTENT_FINALIZER) ? { do: "release-content" } : DONE;
}

/** The group stays on the storage system as it is, and its content with it until a user deletes that. */
function retain(view: VolumeGroupView, content: VolumeGroupContent): Decision {
  const released = releaseClaims(view);
  if (released !== undefined) return released;
  if (isDeleting(content) && hasFinalizer(content, VOLUME_GROUP_CONTENT_FINALIZER))
    return { do: "release-content" };
  return releaseGroup(view);
}

function cleanUp(view: VolumeGroupView, content: VolumeGroupContent): Decision {
  const released = releaseClaims(view);
  if (released !== undefined) return released;
  // A content that an administrator has made, and wants to keep, is theirs.
  const isTheirs = content.spec.source !== undefined && content.spec.deletionPolicy === "Retain";
  if (!isDeleting(content)) return isTheirs ? releaseGroup(view) : { do: "delete-content" };
  if (hasFinalizer(content, VOLUME_GROUP_CONTENT_FINALIZER)) return { do: "release-content" };
  return releaseGroup(view);
}

/** First the volumes leave, unless they are to be deleted explicitly; then the group goes; then the claims are free. */
function remove(view: VolumeGroupView, content: VolumeGroupContent): Decision {
  const { canGetGroup, group, storage } = view;
  // Content left of a retained group stays until a user deletes it; one of a deleted group goes by itself.
  if (group === undefined && content.spec.source !== undefined && !isDeleting(content))
    return releaseClaims(view) ?? DONE;
  const handle = handleOf(content);
  if (handle === undefined)
    return isBackingOff(view, "create", "") ? waits(view, "finds out what was made") : { do: "create-group" };
  if (canGetGroup && !storage.certain)
    return isBackingOff(view, "get", handle)
      ? waits(view, "reads what is in the group")
      : { do: "get-group", handle };
  const doomed = content.spec.deleteMembers === "true" ? doomedOf(view, content) : [];
  const alive = doomed.map(({ each }) => each.claim).filter((claim) => !isDeleting(claim));
  if (alive.length > 0) return { do: "delete-claims", claims: alive };
  const used = doomed.find(({ each }) =>
    each.claim.metadata.finalizers?.some((name) => name !== MEMBER_FINALIZER),
  );
  if (used !== undefined)
    return waits(view, `waits until claim ${used.each.claim.metadata.name} is no longer in use`);
  return empty(
    view,
    content,
    handle,
    doomed.map((each) => each.handle),
  );
}

function empty(
  view: VolumeGroupView,
  content: VolumeGroupContent,
  handle: string,
  doomed: readonly string[],
): Decision {
  const { storage } = view;
  const actual = content.status?.volumeHandles ?? [];
  // A list may have missed the group. Asked for no volumes at all, the driver returns whether the group is there.
  const keep = storage.gone ? [] : actual.filter((each) => doomed.includes(each)).sort();
  const isSure = storage.certain && !storage.gone;
  const isClear = isSure && keep.length === actual.length;
  if (!isClear && !isBackingOff(view, "modify", requestKeyOfSet(keep)))
    return { do: "modify", handle, volumeHandles: keep, added: [] };
  const released = releasing(protectedBy(view).filter((each) => isSure && !actual.includes(each.handle)));
  if (released !== undefined) return released;
  if (!isClear) return waits(view, "takes the volumes out of the group");
  if (isBackingOff(view, "delete", handle)) return waits(view, "deletes the group");
  return { do: "delete-group", handle, volumeHandles: keep };
}

/**
 * Claims whose volumes go with the group. One that is to be retained is taken out of the group instead, and so is one that
 * the group does not ask for any more: who has taken a claim out just before the end has not asked to delete it.
 */
function doomedOf(
  view: VolumeGroupView,
  { status }: VolumeGroupContent,
): { each: Candidate; handle: string }[] {
  const { group } = view;
  const actual = new Set(status?.volumeHandles);
  return protectedBy(view).filter(({ each: { claim, volume }, handle }) => {
    if (volume?.spec?.persistentVolumeReclaimPolicy !== "Delete") return false;
    return group === undefined
      ? isDeleting(claim)
      : objectionTo({ actual, group }, claim, handle) === undefined;
  });
}

function waits(view: VolumeGroupView, what: string): Decision {
  const failure = [...view.storage.failures.values()][0];
  return report(view, ending(`the group is being deleted: it ${what}`, failure?.message));
}
