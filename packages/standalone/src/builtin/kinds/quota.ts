import { ResourceQuotas } from "@mooring/store";
import { ageColumn, type BuiltinKind, column, digObject, digText } from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, notSupported } from "../../schema/field-error.ts";
import { compareQuantities, isInteger } from "../../schema/quantity.ts";
import { isCounted, isWhole, SUPPORTED } from "../quota-usage.ts";
import { quotaTypes } from "../types/workloads.ts";

function hardErrors(hard: Record<string, unknown>): FieldError[] {
  return Object.entries(hard).flatMap(([name, amount]): FieldError[] => {
    const path = `spec.hard[${name}]`;
    if (!isCounted(name)) return [notSupported(path, name, SUPPORTED)];
    if (compareQuantities(String(amount), "0") < 0)
      return [invalid(path, amount, "must be greater than or equal to 0")];
    return isWhole(name) && !isInteger(String(amount)) ? [invalid(path, amount, "must be an integer")] : [];
  });
}

/** ResourceQuotas of storage: any other resource is refused, as nothing would enforce it. */
export const resourceQuotas: BuiltinKind = {
  resource: ResourceQuotas,
  schema: quotaTypes.get("ResourceQuota"),
  singular: "resourcequota",
  shortNames: ["quota"],
  hasStatus: true,
  columns: [
    column("Request", (quota) =>
      Object.keys(digObject(quota, "spec", "hard"))
        .sort()
        .map((name) => {
          const used = digText(quota, "status", "used", name) || "0";
          return `${name}: ${used}/${digText(quota, "spec", "hard", name)}`;
        })
        .join(", "),
    ),
    column("Limit", () => ""),
    ageColumn,
  ],
  rules: {
    validate(quota) {
      const spec = digObject(quota, "spec");
      const scoped = ["scopes", "scopeSelector"].filter((field) => spec[field] !== undefined);
      return [
        ...scoped.map((field) => forbidden(`spec.${field}`, "standalone counts all claims of the namespace")),
        ...hardErrors(digObject(spec, "hard")),
      ];
    },
  },
};
