import { type PersistentVolumeClaim, parseQuantity, type StatefulSet } from "@mooring/store";
import { CONTROLLER_MANAGER } from "../controller-manager.ts";
import type { ClaimStep, SetClaim } from "./claims.ts";
import { claimsOf } from "./identity.ts";

/**
 * What a claim asks for follows its template: upwards, and down again as far as what it has, where a growth has found no
 * room. What somebody else has asked for in the claim itself is only raised (docs/decisions/0145).
 */
export function sizeClaim(set: StatefulSet, { claim, ordinal }: SetClaim): ClaimStep | undefined {
  const template = claimsOf(set, ordinal).find(({ metadata }) => metadata.name === claim.metadata.name);
  const wanted = template?.spec?.resources?.requests?.["storage"];
  const asked = claim.spec?.resources?.requests?.["storage"];
  if (wanted === undefined || asked === undefined || claim.status?.phase !== "Bound") return undefined;
  if (bytes(wanted) > bytes(asked)) return { do: "size-claim", claim, storage: String(wanted) };
  const granted = claim.status.capacity?.["storage"];
  if (granted === undefined || !isAskedByController(claim)) return undefined;
  const least = bytes(wanted) > bytes(granted) ? wanted : granted;
  return bytes(least) < bytes(asked) ? { do: "size-claim", claim, storage: String(least) } : undefined;
}

const bytes = (quantity: string | number) => parseQuantity(String(quantity));

/** Whoever changes a field is its only manager from then on; one who applies the same value is one beside others. */
function isAskedByController({ metadata }: PersistentVolumeClaim): boolean {
  const managers = (metadata.managedFields ?? [])
    .filter(({ subresource, fieldsV1 }) => subresource === undefined && hasPath(fieldsV1, STORAGE))
    .map(({ manager }) => manager);
  return managers.length > 0 && managers.every((manager) => manager === CONTROLLER_MANAGER);
}

/** As `fieldsV1` spells `spec.resources.requests.storage`. */
const STORAGE = ["f:spec", "f:resources", "f:requests", "f:storage"];

function hasPath(fields: unknown, path: readonly string[]): boolean {
  const found = path.reduce<unknown>(
    (at, name) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[name] : undefined),
    fields,
  );
  return found !== undefined;
}
