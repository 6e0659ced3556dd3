import type { ManagedFieldsEntry } from "@mooring/store";
import { defined } from "@mooring/store";
import { isObject } from "../model.ts";
import { type FieldSet, fromFieldsV1, isEmpty, toFieldsV1, union } from "./field-set.ts";

/** One entry of `metadata.managedFields`, its fields as a set. */
export interface Manager {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  subresource?: string;
  /** RFC 3339 */
  time?: string;
  fields: FieldSet;
}

/** By {@link identify}: who did something by the same means is one manager. */
export type Managers = Map<string, Manager>;

/** Applying again in another version is the same manager; updating is not. */
export function identify(
  manager: Pick<Manager, "manager" | "operation" | "apiVersion" | "subresource">,
): string {
  const version = manager.operation === "Apply" ? "" : manager.apiVersion;
  return JSON.stringify([manager.manager, manager.operation, version, manager.subresource ?? ""]);
}

export function decodeManagers(entries: unknown): Managers {
  const managers: Managers = new Map();
  for (const entry of Array.isArray(entries) ? entries : []) {
    if (!isObject(entry) || (entry.operation !== "Apply" && entry.operation !== "Update")) continue;
    const { subresource, time } = entry;
    const manager: Manager = {
      manager: String(entry.manager ?? "unknown"),
      operation: entry.operation,
      apiVersion: String(entry.apiVersion ?? ""),
      ...(typeof subresource === "string" && subresource !== "" ? { subresource } : {}),
      ...(typeof time === "string" ? { time } : {}),
      fields: fromFieldsV1(entry.fieldsV1),
    };
    const same = managers.get(identify(manager));
    managers.set(
      identify(manager),
      same === undefined ? manager : { ...manager, fields: union(same.fields, manager.fields) },
    );
  }
  return managers;
}

/** As an object stores it: those who have fields, in the order that API servers use. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] {
  const all = capUpdates([...managers.values()].filter(({ fields }) => !isEmpty(fields)));
  return all.sort(compareManagers).map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    manager,
    operation,
    apiVersion,
    ...defined({ time }),
    fieldsType: "FieldsV1",
    fieldsV1: toFieldsV1(fields),
    ...defined({ subresource }),
  }));
}

function compareManagers(a: Manager, b: Manager): number {
  const order = (m: Manager) => [m.operation, m.time ?? "", m.manager, m.apiVersion, m.subresource ?? ""];
  const [left, right] = [order(a), order(b)];
  const at = left.findIndex((text, i) => text !== right[i]);
  return at < 0 ? 0 : (left[at] ?? "") < (right[at] ?? "") ? -1 : 1;
}

const MAX_UPDATE_MANAGERS = 10;
const ANCIENT = "ancient-changes";

/** The oldest updaters are lumped together, so that objects that everybody touches do not grow for ever. */
function capUpdates(managers: Manager[]): Manager[] {
  const updates = managers.filter(
    ({ operation, subresource }) => operation === "Update" && subresource === undefined,
  );
  const excess = updates.length - MAX_UPDATE_MANAGERS;
  if (excess <= 0) return managers;
  const oldest = [...updates].sort(compareManagers).slice(0, excess + 1);
  const lumps = new Map<string, Manager>();
  for (const each of oldest) {
    const lump = lumps.get(each.apiVersion);
    const fields = lump === undefined ? each.fields : union(lump.fields, each.fields);
    lumps.set(each.apiVersion, { ...each, manager: ANCIENT, fields });
  }
  return [...managers.filter((each) => !oldest.includes(each)), ...lumps.values()];
}
