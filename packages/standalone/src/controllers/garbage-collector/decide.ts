import { DONE, type OwnerReference } from "@mooring/store";
import { FOREGROUND, type Identity, isDeletingWith, ORPHAN, ownersOf } from "./identity.ts";

/** What is known about the owner that a reference names. */
export type OwnerState =
  /** It is there. */
  | "solid"
  /** It is gone, or another object has its name now. */
  | "absent"
  /** It is being deleted and waits for this dependent. */
  | "waiting"
  /** It is in another namespace, where it cannot own this object, or its kind is not served: no conclusion. */
  | "unresolvable";

/** Everything that a decision about one object depends on. */
export interface View {
  object: Identity;
  /** The states of the object's owners, in the order of its references. */
  owners: readonly OwnerState[];
  dependents: readonly Identity[];
  /** References across namespaces that were not reported yet. */
  foreign?: readonly OwnerReference[];
}

/** One visible change of an object whose owners are gone, or are being deleted. */
export type Step =
  | { do: "done" }
  /** The finalizer has done its part. */
  | { do: "remove-finalizer"; finalizer: typeof FOREGROUND | typeof ORPHAN }
  /** Lets dependents live on without this owner. */
  | { do: "release-dependents"; dependents: readonly Identity[] }
  /** Asks for the blocking dependents to be read. */
  | { do: "collect-dependents"; uids: string[] }
  /** Drops references to owners that are gone or leaving; others keep the object alive. */
  | { do: "drop-references"; uids: string[] }
  /** A circle of foreground deletions would wait for itself. */
  | { do: "unblock"; uids: string[] }
  /** Reports in events which references cross a namespace: they count for nothing. */
  | { do: "report-foreign-owners"; references: readonly OwnerReference[] }
  | { do: "delete"; policy: "Foreground" | "Background" | "Orphan" };

/** Dependents released side by side; the writes share a trip to the disk. */
const BATCH = 64;

/** The next thing to do about one object. */
export function decide(view: View): Step {
  const { object, foreign = [] } = view;
  if (foreign.length > 0) return { do: "report-foreign-owners", references: foreign };
  if (object.metadata.deletionTimestamp === undefined) return decideOwned(view);
  if (isDeletingWith(object, ORPHAN)) return decideOrphan(view);
  return isDeletingWith(object, FOREGROUND) ? decideForeground(view) : DONE;
}

function decideOrphan({ dependents }: View): Step {
  if (dependents.length > 0) return { do: "release-dependents", dependents: dependents.slice(0, BATCH) };
  return { do: "remove-finalizer", finalizer: ORPHAN };
}

function decideForeground({ object, dependents }: View): Step {
  const blocking = dependents.filter((dependent) => blocks(dependent, object.metadata.uid));
  if (blocking.length === 0) return { do: "remove-finalizer", finalizer: FOREGROUND };
  const uids = blocking
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.uid);
  return uids.length === 0 ? DONE : { do: "collect-dependents", uids };
}

function decideOwned({ object, owners, dependents }: View): Step {
  const references = ownersOf(object);
  if (references.length === 0 || owners.includes("unresolvable")) return DONE;
  const inState = (...states: OwnerState[]) =>
    references.filter((_, index) => states.includes(owners[index] ?? "solid"));
  if (inState("solid").length > 0) {
    const leaving = inState("absent", "waiting");
    return leaving.length === 0 ? DONE : { do: "drop-references", uids: leaving.map(({ uid }) => uid) };
  }
  const waiting = inState("waiting");
  if (waiting.length === 0 || dependents.length === 0) return { do: "delete", policy: policyOf(object) };
  const circular = waiting.filter(
    (reference) =>
      reference.blockOwnerDeletion === true &&
      dependents.some((dependent) => isDeletingWith(dependent, FOREGROUND)),
  );
  if (circular.length > 0) return { do: "unblock", uids: circular.map(({ uid }) => uid) };
  // The owner waits in the foreground, so its dependents wait for theirs, too.
  return { do: "delete", policy: "Foreground" };
}

/** What the object's own finalizers ask for; without any its dependents follow later. */
function policyOf({ metadata }: Identity): "Foreground" | "Background" | "Orphan" {
  if (metadata.finalizers?.includes(ORPHAN) === true) return "Orphan";
  return metadata.finalizers?.includes(FOREGROUND) === true ? "Foreground" : "Background";
}

const blocks = (dependent: Identity, owner: string) =>
  ownersOf(dependent).some(
    ({ uid, blockOwnerDeletion }: OwnerReference) => uid === owner && blockOwnerDeletion === true,
  );
