import { type BuiltinKind, column } from "../kinds/builtin-kind.ts";
import { definitionTypes } from "./definition-schema.ts";
import { CLEANUP_FINALIZER, type CustomResourceDefinition, CustomResourceDefinitions } from "./types.ts";
import { asDefinition, validateDefinition, validateDefinitionUpdate } from "./validate-definition.ts";

/** The defaults of a definition, in place. */
export function fillIn(spec: CustomResourceDefinition["spec"]): void {
  spec.names.singular ??= spec.names.kind?.toLowerCase() ?? "";
  spec.names.listKind ??= `${spec.names.kind}List`;
  spec.conversion ??= { strategy: "None" };
}

/** The kind CustomResourceDefinition; its controller is in `controller.ts`. */
export const customResourceDefinitions: BuiltinKind = {
  resource: CustomResourceDefinitions,
  schema: definitionTypes.get("CustomResourceDefinition"),
  singular: "customresourcedefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  hasStatus: true,
  columns: [column("Created At", (crd) => crd.metadata.creationTimestamp ?? "")],
  rules: {
    prepareCreate(object) {
      const { spec, metadata } = asDefinition(object);
      const stored = (spec?.versions ?? [])
        .filter((version) => version.storage)
        .map((version) => version.name);
      object.status = { conditions: [], acceptedNames: { plural: "", kind: "" }, storedVersions: stored };
      // Deleting the definition deletes its objects first.
      metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), CLEANUP_FINALIZER])];
    },
    prepareUpdate(object) {
      const { spec, status } = asDefinition(object);
      if (status === undefined) return;
      const stored = new Set(status.storedVersions ?? []);
      for (const version of spec?.versions ?? []) if (version.storage) stored.add(version.name);
      status.storedVersions = [...stored];
    },
    defaults(object) {
      const { spec } = asDefinition(object);
      if (spec?.names !== undefined) fillIn(spec);
    },
    validate: validateDefinition,
    validateUpdate: (next, old, subresource) =>
      subresource === "status" ? [] : validateDefinitionUpdate(next, old),
  },
};
