import type { UnstructuredObject } from "@mooring/store";
import { type FieldError, forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/formats.ts";
import { jsonEqual } from "../schema/model.ts";
import type { CrdNames, CrdVersion, CustomResourceDefinition } from "./types.ts";
import { validateStructure } from "./validate-structure.ts";

/** The object by its type: only for what has passed the schema. */
export function asDefinition(object: UnstructuredObject): CustomResourceDefinition {
  return object as unknown as CustomResourceDefinition;
}

/** What an API server demands of a CustomResourceDefinition. */
export function validateDefinition(object: UnstructuredObject): FieldError[] {
  const { metadata, spec } = asDefinition(object);
  const errors: FieldError[] = [];
  const name = `${spec.names.plural}.${spec.group}`;
  if (metadata.name !== name) {
    errors.push(invalid("metadata.name", metadata.name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (spec.group === "") errors.push(required("spec.group"));
  else errors.push(...nameProblems("subdomain", spec.group).map((p) => invalid("spec.group", spec.group, p)));
  if (spec.group !== "" && !spec.group.includes(".")) {
    errors.push(invalid("spec.group", spec.group, "should be a domain with at least one dot"));
  }
  if (isProtected(spec.group) && metadata.annotations?.[APPROVAL] === undefined) {
    const detail =
      'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111';
    errors.push(required(`metadata.annotations[${APPROVAL}]`, detail));
  }
  if (!["Cluster", "Namespaced"].includes(spec.scope)) {
    errors.push(notSupported("spec.scope", spec.scope, ["Cluster", "Namespaced"]));
  }
  if (spec.preserveUnknownFields === true) {
    errors.push(invalid("spec.preserveUnknownFields", true, "must be false"));
  }
  const strategy = spec.conversion?.strategy ?? "None";
  if (strategy !== "None") {
    errors.push(notSupported("spec.conversion.strategy", strategy, ["None"]));
  }
  return [...errors, ...nameErrors(spec.names), ...versionErrors(spec.versions)];
}

const APPROVAL = "api-approved.kubernetes.io";
/** Groups that belong to the Kubernetes project. */
function isProtected(group: string): boolean {
  return /(^|\.)(k8s\.io|kubernetes\.io)$/.test(group);
}

function nameErrors(names: CrdNames): FieldError[] {
  const label = (field: string, text: string | undefined): FieldError[] =>
    text === undefined || text === ""
      ? [required(`spec.names.${field}`)]
      : nameProblems("label1035", text.toLowerCase()).map((p) => invalid(`spec.names.${field}`, text, p));
  const lists = (["shortNames", "categories"] as const).flatMap((field) =>
    (names[field] ?? []).flatMap((text, i) => label(`${field}[${i}]`, text)),
  );
  const same =
    names.listKind === names.kind
      ? [invalid("spec.names.listKind", names.listKind, "kind and listKind may not be the same")]
      : [];
  return [
    ...label("plural", names.plural),
    ...label("singular", names.singular),
    ...label("kind", names.kind),
    ...label("listKind", names.listKind),
    ...lists,
    ...same,
  ];
}

function versionErrors(versions: readonly CrdVersion[]): FieldError[] {
  const errors: FieldError[] = [];
  const names = versions.map((version) => version.name);
  const stored = versions.filter((version) => version.storage).length;
  if (stored !== 1)
    errors.push(invalid("spec.versions", names, "must have exactly one version marked as storage version"));
  if (new Set(names).size < names.length)
    errors.push(invalid("spec.versions", names, "must contain unique version names"));
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`;
    errors.push(
      ...nameProblems("label1035", version.name).map((p) => invalid(`${path}.name`, version.name, p)),
    );
    if (version.deprecationWarning !== undefined && version.deprecated !== true) {
      errors.push(
        invalid(
          `${path}.deprecationWarning`,
          version.deprecationWarning,
          "can only be set for deprecated versions",
        ),
      );
    }
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) {
      errors.push(required(`${path}.schema.openAPIV3Schema`, "schemas are required"));
    } else errors.push(...validateStructure(schema, `${path}.schema.openAPIV3Schema`));
    errors.push(...columnErrors(version, path), ...pathErrors(version, path));
  }
  return errors;
}

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];
const SIMPLE_PATH = /^(\.[A-Za-z0-9_-]+|\['[^']+'\])+$/;

function columnErrors(version: CrdVersion, path: string): FieldError[] {
  return (version.additionalPrinterColumns ?? []).flatMap((column, i) => {
    const at = `${path}.additionalPrinterColumns[${i}]`;
    const errors: FieldError[] = [];
    if (column.name === "") errors.push(required(`${at}.name`));
    if (!COLUMN_TYPES.includes(column.type))
      errors.push(notSupported(`${at}.type`, column.type, COLUMN_TYPES));
    if (!column.jsonPath.startsWith(".")) {
      errors.push(invalid(`${at}.jsonPath`, column.jsonPath, "must be a simple json path starting with ."));
    }
    return errors;
  });
}

function pathErrors(version: CrdVersion, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const scale = version.subresources?.scale;
  const rules = [
    ["specReplicasPath", ".spec."],
    ["statusReplicasPath", ".status."],
  ] as const;
  for (const [field, prefix] of rules) {
    const value = scale?.[field];
    if (value !== undefined && !value.startsWith(prefix)) {
      errors.push(
        invalid(
          `${path}.subresources.scale.${field}`,
          value,
          `should be a json path under ${prefix.slice(0, -1)}`,
        ),
      );
    }
  }
  for (const [i, { jsonPath }] of (version.selectableFields ?? []).entries()) {
    const at = `${path}.selectableFields[${i}].jsonPath`;
    if (!SIMPLE_PATH.test(jsonPath)) errors.push(invalid(at, jsonPath, "is an invalid path"));
    else if (jsonPath.startsWith(".metadata."))
      errors.push(invalid(at, jsonPath, "must not point to fields in metadata"));
  }
  return errors;
}

/** What may not change once the definition is there. */
export function validateDefinitionUpdate(
  nextObject: UnstructuredObject,
  oldObject: UnstructuredObject,
): FieldError[] {
  const [next, old] = [asDefinition(nextObject), asDefinition(oldObject)];
  const errors: FieldError[] = [];
  const fixed: [string, unknown, unknown][] = [
    ["spec.group", next.spec.group, old.spec.group],
    ["spec.names.plural", next.spec.names.plural, old.spec.names.plural],
  ];
  if (isEstablished(old)) {
    fixed.push(
      ["spec.scope", next.spec.scope, old.spec.scope],
      ["spec.names.kind", next.spec.names.kind, old.spec.names.kind],
    );
  }
  for (const [field, after, before] of fixed) {
    if (!jsonEqual(after, before)) errors.push(invalid(field, after, "field is immutable"));
  }
  const names = new Set(next.spec.versions.map((version) => version.name));
  for (const [i, stored] of (next.status?.storedVersions ?? []).entries()) {
    if (names.has(stored)) continue;
    const detail = `must appear in spec.versions`;
    errors.push(invalid(`status.storedVersions[${i}]`, stored, detail));
  }
  if ((next.status?.storedVersions ?? []).length === 0 && next.status !== undefined) {
    errors.push(forbidden("status.storedVersions", "must have at least one stored version"));
  }
  return errors;
}

/** True when the definition's condition `Established` is True: the kind is served. */
export function isEstablished(definition: CustomResourceDefinition): boolean {
  return definition.status?.conditions?.some((c) => c.type === "Established" && c.status === "True") === true;
}
