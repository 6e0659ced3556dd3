import { defined } from "@mooring/store";
import type { VolumeGroupContent } from "../kube/volume-group.ts";
import { type Drift, driftIn, driftMessage, isNone, repairs } from "./drift.ts";
import type { Membership } from "./membership.ts";
import type { GroupResult } from "./view.ts";

/** Writes to the content's status what the storage system has. */
export interface RecordStep {
  do: "record";
  /** Fields of the content's status; null takes one away. */
  status: object;
  /** An administrator has changed the membership, and it is repaired now. */
  repaired?: string;
}

/** Puts a response of the driver on record. */
export function recordResult(
  content: VolumeGroupContent,
  result: GroupResult,
  { desired }: Pick<Membership, "desired">,
  now: string,
): RecordStep {
  const drift = driftIn(content, desired, result);
  const isKnown = content.status?.volumeHandles !== undefined;
  const repaired = repairs(content) && isKnown && !isNone(drift) ? driftMessage(drift) : undefined;
  const { context, handle, volumeHandles } = result;
  return {
    do: "record",
    status: {
      volumeGroupHandle: handle,
      // A merge patch would keep keys that are gone.
      volumeGroupContext: {
        ...Object.fromEntries(
          Object.keys(content.status?.volumeGroupContext ?? {}).map((key) => [key, null]),
        ),
        ...context,
      },
      volumeHandles,
      creationTime: content.status?.creationTime ?? now,
      ready: true,
      drift: repairs(content) || isNone(drift) ? null : drift,
    },
    ...defined({ repaired }),
  };
}

/** Forgets recorded drift that is none any more; undefined: there is nothing to forget. */
export function recordDrift(content: VolumeGroupContent, drift: Drift): RecordStep | undefined {
  const before = content.status?.drift;
  if (before === undefined) return undefined;
  const keep = repairs(content) ? { missing: [], extra: [] } : drift;
  const same =
    before.missing.join() === keep.missing.join() &&
    before.extra.join() === keep.extra.join() &&
    !isNone(keep);
  return same ? undefined : { do: "record", status: { drift: isNone(keep) ? null : keep } };
}
