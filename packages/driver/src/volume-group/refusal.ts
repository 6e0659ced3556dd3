import { Code, CsiError } from "@mooring/csi";

/** Why one volume cannot be a member. */
export interface Refusal {
  volumeId: string;
  reason: RefusalReason;
  /** Goes on after the volume's id: `does not exist`. */
  why: string;
}

type RefusalReason =
  | "TOO_MANY_VOLUMES"
  | "VOLUME_NOT_FOUND"
  | "VOLUME_IN_ANOTHER_GROUP"
  | "VOLUME_NOT_READY"
  | "VOLUME_INCOMPATIBLE"
  | "VOLUME_IN_USE"
  | "VOLUME_NOT_DELETED";

/**
 * The code of each, the one to name first when there are several. Volumes that do not go together are
 * FAILED_PRECONDITION for CreateVolumeGroup and INVALID_ARGUMENT for ModifyVolumeGroupMembership (their tables of
 * errors); the number is gRPC's own, whatever a table prints.
 */
const CODES: Readonly<Record<RefusalReason, { create: Code; modify: Code }>> = {
  TOO_MANY_VOLUMES: both(Code.RESOURCE_EXHAUSTED),
  VOLUME_NOT_FOUND: both(Code.NOT_FOUND),
  VOLUME_IN_ANOTHER_GROUP: both(Code.FAILED_PRECONDITION),
  VOLUME_NOT_READY: both(Code.FAILED_PRECONDITION),
  VOLUME_INCOMPATIBLE: { create: Code.FAILED_PRECONDITION, modify: Code.INVALID_ARGUMENT },
  VOLUME_IN_USE: both(Code.FAILED_PRECONDITION),
  VOLUME_NOT_DELETED: both(Code.FAILED_PRECONDITION),
};

function both(code: Code): { create: Code; modify: Code } {
  return { create: code, modify: code };
}

const HINTS: Readonly<Record<RefusalReason, string>> = {
  TOO_MANY_VOLUMES: "Take volumes out of the group first, or use another group.",
  VOLUME_NOT_FOUND: "ListVolumes lists all volumes.",
  VOLUME_IN_ANOTHER_GROUP: "Take it out of that group first: a volume is in one group at most.",
  VOLUME_NOT_READY: "Repeat the call when CreateVolume has returned.",
  VOLUME_INCOMPATIBLE: "Use other volumes, or a group of their own for these.",
  VOLUME_IN_USE: "Unpublish it from every node first.",
  VOLUME_NOT_DELETED: "Take the volumes out of the group first (ModifyVolumeGroupMembership).",
};

/** The volume is being deleted, so it cannot join. */
export const goingAway = (volumeId: string): Refusal => ({
  ...{ volumeId, reason: "VOLUME_NOT_FOUND", why: "is being deleted" },
});

/** The volume is in another group, and a volume is in one at most. */
export const inAnother = (volumeId: string, other: string): Refusal => ({
  ...{ volumeId, reason: "VOLUME_IN_ANOTHER_GROUP", why: `is in volume group "${other}"` },
});

/** Volumes that the message names; the details name all of them. */
const NAMED = 5;

/** One error for all of them. `ids`: `volume_ids` of the request, or of the group. Nothing has been changed. */
export function refused(
  what: string,
  call: "create" | "modify",
  refusals: readonly Refusal[],
  ids: readonly string[],
): CsiError {
  const order = Object.keys(CODES);
  const [first] = [...refusals].sort((a, b) => order.indexOf(a.reason) - order.indexOf(b.reason));
  const reason = first?.reason ?? "VOLUME_NOT_FOUND";
  const texts = refusals.map(({ volumeId, why }) => `volume "${volumeId}" ${why}`);
  const more = texts.length > NAMED ? `; and ${texts.length - NAMED} more` : "";
  const placeOf = new Map(ids.map((id, index) => [id, index] as const).reverse());
  const violations = refusals.map((refusal, index) => ({
    field: `volume_ids[${placeOf.get(refusal.volumeId) ?? -1}]`,
    description: texts[index] ?? "",
    reason: refusal.reason,
  }));
  const message = `${what}: ${texts.slice(0, NAMED).join("; ")}${more}`;
  return new CsiError(CODES[reason][call], message, { hint: HINTS[reason], violations });
}

/** ABORTED: another call has changed the group, or wants one of the volumes for another group, and was faster. */
export function overtaken(name: string): CsiError {
  return CsiError.aborted(`volume group "${name}" was changed by another call meanwhile`, {
    hint: "Read the group again, then repeat the call.",
  });
}
