import { isDeepStrictEqual } from "node:util";
import { DONE, isDeleting, type Outcome } from "@mooring/store";
import type { DeclaredCsiDriver } from "./object.ts";
import type { CsiDriverView } from "./read.ts";

/** One visible change of a CSIDriver object. */
export type CsiDriverStep =
  | { do: "create" }
  | { do: "update"; spec: DeclaredCsiDriver }
  /** It cannot be made as it is declared. */
  | { do: "report"; message: string };

/** Fields that no API server lets a client change, as volumes rely on them. */
const IMMUTABLE: ReadonlySet<string> = new Set(["attachRequired", "volumeLifecycleModes"]);

/**
 * Fields that can be changed come first: those that cannot must not delay them. Fields that the administrator does not
 * declare are not compared.
 */
export function decideCsiDriver({ csiDriver, declared }: CsiDriverView): CsiDriverStep | Outcome {
  if (csiDriver === undefined) return { do: "create" };
  // Its end asks again.
  if (isDeleting(csiDriver)) return DONE;
  const differing = Object.entries(declared).filter(
    ([field, wanted]) => !isSame(wanted, csiDriver.spec[field as keyof DeclaredCsiDriver]),
  );
  const mutable = differing.filter(([field]) => !IMMUTABLE.has(field));
  if (mutable.length > 0) return { do: "update", spec: Object.fromEntries(mutable) };
  if (differing.length === 0) return DONE;
  const fields = differing.map(([field, wanted]) => {
    const now = csiDriver.spec[field as keyof DeclaredCsiDriver];
    return `${field} is ${JSON.stringify(now)} and declared as ${JSON.stringify(wanted)}`;
  });
  const advice = `kubectl delete csidriver ${csiDriver.metadata.name}, and it is made anew as declared`;
  return { do: "report", message: `${fields.join(", ")}, which cannot be changed: ${advice}` };
}

/** Lists of names have no order; nothing, and an empty list, are one. */
function isSame(wanted: unknown, now: unknown): boolean {
  const plain = (value: unknown): unknown => {
    const given = value ?? undefined;
    if (!Array.isArray(given)) return given;
    if (given.length === 0) return undefined;
    return given.every((each) => typeof each === "string") ? [...given].sort() : given;
  };
  return isDeepStrictEqual(plain(wanted), plain(now));
}
