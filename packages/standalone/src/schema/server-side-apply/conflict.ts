import { type StatusCause, StatusError } from "@mooring/store";
import { type FieldSet, paths, pathText } from "./field-set.ts";
import type { Manager, Managers } from "./managers.ts";

/** `"kubectl" with subresource "status" using v1`: managers that updated also name the version. */
function describe({ manager, operation, apiVersion, subresource }: Manager): string {
  const name =
    JSON.stringify(manager) +
    (subresource === undefined ? "" : ` with subresource ${JSON.stringify(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}

/** The 409 of server-side apply, one cause per field, with the text that kubectl turns into advice. */
export function conflictError(conflicts: ReadonlyMap<string, FieldSet>, managers: Managers): StatusError {
  const byManager = [...conflicts].flatMap(([id, set]) => {
    const manager = managers.get(id);
    return manager === undefined ? [] : [{ who: describe(manager), fields: [...paths(set)].map(pathText) }];
  });
  byManager.sort((a, b) => (a.who < b.who ? -1 : 1));
  const causes: StatusCause[] = byManager.flatMap(({ who, fields }) =>
    fields.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${who}`, field })),
  );
  const [only] = byManager;
  const text =
    causes.length === 1 && only !== undefined
      ? `Apply failed with 1 conflict: conflict with ${only.who}: ${only.fields[0]}`
      : `Apply failed with ${causes.length} conflicts: ${byManager
          .map(({ who, fields }) =>
            [`conflicts with ${who}:`, ...fields.map((field) => `- ${field}`)].join("\n"),
          )
          .join("\n")}`;
  return new StatusError("Conflict", text, { causes });
}
