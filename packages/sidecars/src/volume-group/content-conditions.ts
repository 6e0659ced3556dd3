import { isDeepStrictEqual } from "node:util";
import { type Condition, isDeleting } from "@mooring/store";
import type { VolumeGroupContent } from "../kube/volume-group.ts";
import { isFor } from "./content-for.ts";
import { driftMessage } from "./drift.ts";
import { type Truth, truth } from "./status.ts";
import type { ContentReport, Decision } from "./step.ts";
import type { VolumeGroupView } from "./view.ts";

type ContentStatus = NonNullable<VolumeGroupContent["status"]>;

/**
 * The decision, with the content's conditions: they go along with what is recorded, and else have a write of their own
 * before the group itself reports how it stands.
 */
export function withContentConditions(
  view: VolumeGroupView,
  content: VolumeGroupContent,
  decision: Decision,
): Decision {
  if (decision.do === "record") {
    const reported = conditionsOf(view, content, { ...content.status, ...decision.status });
    return { ...decision, status: { ...decision.status, ...reported } };
  }
  if (!["done", "wait", "write-status"].includes(decision.do)) return decision;
  const { conditions, ready } = content.status ?? {};
  const reported = conditionsOf(view, content, content.status ?? {});
  if (reported === undefined || isDeepStrictEqual(reported, { ready, conditions })) return decision;
  return { do: "write-content-conditions", status: reported };
}

/** The conditions of the view's content with this status; undefined: it is not for this view to say. */
function conditionsOf(
  view: VolumeGroupView,
  content: VolumeGroupContent,
  status: Partial<ContentStatus>,
): ContentReport | undefined {
  const { group, now, storage } = view;
  const { uid } = content.spec.volumeGroupRef;
  if (content.spec.driver !== view.driver) return undefined;
  // Another VolumeGroup than its own has met it.
  if (group !== undefined && (uid === undefined || !isFor(content, group))) return undefined;
  const isThere = status.volumeGroupHandle !== undefined && !storage.gone;
  const truths = {
    Bound: bound(view, content),
    Ready: ready(view, isThere),
    Degraded: degraded(view, status),
  };
  const conditions = Object.entries(truths).map(([type, { is, message, reason }]): Condition => {
    const state = is ? "True" : "False";
    const before = content.status?.conditions?.find((each) => each.type === type);
    const lastTransitionTime = before?.status === state ? before.lastTransitionTime : now;
    return { type, status: state, reason, message, lastTransitionTime };
  });
  return { ready: isThere, conditions };
}

function bound({ group }: VolumeGroupView, content: VolumeGroupContent): Truth {
  const { name, namespace, uid } = content.spec.volumeGroupRef;
  const of = `VolumeGroup ${namespace}/${name}`;
  if (isDeleting(content)) return truth(false, "Deleting", "the content is being deleted");
  if (uid === undefined)
    return truth(false, "NotBound", `${of} does not name it in spec.source.volumeGroupContentName yet`);
  if (group === undefined) return truth(false, "Released", `${of} is gone`);
  return truth(true, "Bound", `bound to ${of}`);
}

function ready({ storage }: VolumeGroupView, isThere: boolean): Truth {
  if (isThere) return truth(true, "Ready", "the group is there");
  return storage.gone
    ? truth(false, "GroupMissing", "the group does not exist on the storage system any more")
    : truth(false, "NotSeen", "the group was not seen on the storage system yet");
}

/** A VolumeGroup reports itself which call fails; of a content that is left of one nothing else does. */
function degraded({ group, storage }: VolumeGroupView, { drift }: Partial<ContentStatus>): Truth {
  if (storage.gone)
    return truth(true, "GroupMissing", "the group does not exist on the storage system any more");
  const [failure] = group === undefined ? storage.failures.values() : [];
  if (failure !== undefined) return truth(true, "CallFailed", failure.message);
  if (drift) return truth(true, "MembershipDrift", driftMessage(drift));
  return truth(false, "AsAsked", "nothing is wrong");
}
