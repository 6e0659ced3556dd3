import { DONE, type Outcome, wait } from "@mooring/store";
import { jsonEqual } from "../../schema/model.ts";
import { terminating } from "../clean-up.ts";
import { decideNames } from "../names.ts";
import { CLEANUP_FINALIZER, type CustomResourceDefinition } from "../types.ts";

/** Everything that the next step for a definition depends on. */
export interface DefinitionView {
  crd: CustomResourceDefinition | undefined;
  /** All others of its group. */
  others: readonly CustomResourceDefinition[];
  /** What is served for it here, if anything. */
  served: { isCurrent: boolean; isFrozen: boolean } | undefined;
  /** Objects that are left of a kind whose definition goes; read only once none can come any more. */
  left: { all: number; undeleted: number };
  /** RFC 3339. */
  now: string;
}

/** One visible change for a definition. */
export type DefinitionStep =
  | { do: "serve" }
  | { do: "write-status"; status: NonNullable<CustomResourceDefinition["status"]> }
  | { do: "mark-terminating"; status: NonNullable<CustomResourceDefinition["status"]> }
  /** Objects of the kind can go but not come. */
  | { do: "freeze" }
  | { do: "delete-objects" }
  /** Nothing of the kind is left: the definition may go. */
  | { do: "release" };

/** How soon a definition being deleted is checked again whether its objects are gone. */
const CLEANUP_POLL_MS = 200;

/** The next step for a definition. Pure. */
export function decideDefinition(view: DefinitionView): DefinitionStep | Outcome {
  const { crd, others, served, now } = view;
  // The server withdraws what it served of it with the event, before any request's turn.
  if (crd === undefined) return DONE;
  if (crd.metadata.deletionTimestamp !== undefined) return decideEnd(view, crd);
  const { acceptedNames, conditions } = decideNames(crd, others, now);
  const established = conditions.some((c) => c.type === "Established" && c.status === "True");
  // Served first: a client that waits for Established may use the kind at once.
  if (established && served?.isCurrent !== true) return { do: "serve" };
  const known = { acceptedNames: crd.status?.acceptedNames, conditions: crd.status?.conditions };
  if (jsonEqual(known, { acceptedNames, conditions })) return DONE;
  return { do: "write-status", status: { ...crd.status, acceptedNames, conditions } };
}

/** Objects first, the definition last. */
function decideEnd({ served, left, now }: DefinitionView, crd: CustomResourceDefinition) {
  if (crd.metadata.finalizers?.includes(CLEANUP_FINALIZER) !== true) return DONE;
  const conditions = terminating(crd, now);
  if (!jsonEqual(conditions, crd.status?.conditions))
    return { do: "mark-terminating" as const, status: { ...crd.status, conditions } };
  if (served !== undefined) {
    if (!served.isFrozen) return { do: "freeze" as const };
    if (left.undeleted > 0) return { do: "delete-objects" as const };
    if (left.all > 0) return wait(CLEANUP_POLL_MS);
  }
  return { do: "release" as const };
}
