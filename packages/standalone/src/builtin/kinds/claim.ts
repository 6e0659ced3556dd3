import { PersistentVolumeClaims, StatusError, StorageClasses, type UnstructuredObject } from "@mooring/store";
import {
  accessModes,
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digObject,
  digStrings,
  digText,
  text,
  wide,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "../../schema/field-error.ts";
import { nameProblems } from "../../schema/formats.ts";
import { clone, isObject, jsonEqual } from "../../schema/model.ts";
import { compareQuantities } from "../../schema/quantity.ts";
import type { Lookup } from "../../schema/strategy.ts";
import { requireQuota } from "../quota.ts";
import { claimTypes } from "../types/claim.ts";
import { labelSelectorErrors } from "./selector-errors.ts";

const ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/** What is wrong with a list of access modes. */
export function accessModeErrors(modes: readonly string[], path: string): FieldError[] {
  const errors: FieldError[] = modes
    .filter((mode) => !ACCESS_MODES.includes(mode))
    .map((mode) => notSupported(path, mode, ACCESS_MODES));
  if (modes.includes("ReadWriteOncePod") && modes.length > 1) {
    errors.push(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  }
  return errors;
}

/** Also used for the templates of ephemeral volumes. */
export function claimSpecErrors(spec: Record<string, unknown>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const modes = digStrings(spec, "accessModes");
  if (modes.length === 0) errors.push(required(`${path}.accessModes`, "at least 1 access mode is required"));
  errors.push(...accessModeErrors(modes, `${path}.accessModes`));
  errors.push(...labelSelectorErrors(spec.selector, `${path}.selector`));
  const size = dig(spec, "resources", "requests", "storage");
  if (size === undefined) errors.push(required(`${path}.resources[storage]`));
  else if (compareQuantities(String(size), "0") <= 0) {
    errors.push(invalid(`${path}.resources[storage]`, size, "must be greater than zero"));
  }
  for (const field of ["storageClassName", "volumeAttributesClassName"]) {
    const name = digText(spec, field);
    if (name !== "")
      errors.push(...nameProblems("subdomain", name).map((p) => invalid(`${path}.${field}`, name, p)));
  }
  return [...errors, ...sourceErrors(spec, path)];
}

function sourceErrors(spec: Record<string, unknown>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["dataSource", "dataSourceRef"]) {
    const source = spec[field];
    if (!isObject(source)) continue;
    if (source.name === "") errors.push(required(`${path}.${field}.name`));
    if (source.kind === "") errors.push(required(`${path}.${field}.kind`));
    if (digText(source, "apiGroup") === "" && source.kind !== "PersistentVolumeClaim") {
      const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
      errors.push(invalid(`${path}.${field}`, source.kind ?? "", detail));
    }
    const namespace = digText(source, "namespace");
    if (namespace !== "")
      errors.push(
        ...nameProblems("label", namespace).map((p) => invalid(`${path}.${field}.namespace`, namespace, p)),
      );
  }
  const { dataSource, dataSourceRef } = spec;
  if (isObject(dataSource) && isObject(dataSourceRef) && digText(dataSourceRef, "namespace") !== "") {
    const detail = "may not be specified when dataSourceRef.namespace is specified";
    errors.push(invalid(path, `${path}.dataSource`, detail));
  } else if (isObject(dataSource) && isObject(dataSourceRef) && !jsonEqual(dataSource, dataSourceRef)) {
    errors.push(invalid(path, dataSource, "must match dataSourceRef"));
  }
  return errors;
}

/** The two spellings of a data source mirror each other; foreign namespaces exist in the new one only. */
function mirrorDataSource(object: UnstructuredObject): void {
  const spec = digObject(object, "spec");
  const { dataSource, dataSourceRef } = spec;
  if (isObject(dataSource) && dataSourceRef === undefined) spec.dataSourceRef = clone(dataSource);
  else if (
    isObject(dataSourceRef) &&
    dataSource === undefined &&
    digText(dataSourceRef, "namespace") === ""
  ) {
    spec.dataSource = clone(dataSourceRef);
  }
}

const FIXED =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n";

function updateErrors(next: UnstructuredObject, old: UnstructuredObject, subresource: string): FieldError[] {
  if (subresource === "status") return [];
  const allowed = clone(digObject(old, "spec"));
  const spec = digObject(next, "spec");
  const bound = dig(old, "status", "phase") === "Bound";
  if (digText(allowed, "volumeName") === "") setOrDelete(allowed, "volumeName", spec.volumeName);
  if (allowed.storageClassName === undefined) setOrDelete(allowed, "storageClassName", spec.storageClassName);
  setOrDelete(allowed, "volumeAttributesClassName", spec.volumeAttributesClassName);
  if (bound) setOrDelete(digObject(allowed, "resources"), "requests", digObject(spec, "resources").requests);
  const errors = jsonEqual(allowed, spec) ? [] : [forbidden("spec", FIXED)];
  return [...errors, ...shrinkErrors(next, old), ...attributesClassErrors(next, old)];
}

function setOrDelete(object: Record<string, unknown>, field: string, value: unknown): void {
  if (value === undefined) delete object[field];
  else object[field] = clone(value);
}

/**
 * A claim may be made smaller again only to leave a failed expansion, and never below what it already has. Kubernetes asks for
 * a little more than that, and so has no way back to a size that fits exactly.
 */
function shrinkErrors(next: UnstructuredObject, old: UnstructuredObject): FieldError[] {
  const path = ["spec", "resources", "requests", "storage"];
  const [after, before] = [digText(next, ...path), digText(old, ...path)];
  const capacity = digText(old, "status", "capacity", "storage");
  if (after === "" || before === "" || compareQuantities(after, before) >= 0) return [];
  return capacity !== "" && compareQuantities(after, capacity) >= 0
    ? []
    : [forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")];
}

function attributesClassErrors(next: UnstructuredObject, old: UnstructuredObject): FieldError[] {
  const path = "spec.volumeAttributesClassName";
  const [after, before] = [digText(next, ...path.split(".")), digText(old, ...path.split("."))];
  return before !== "" && after === ""
    ? [forbidden(path, "update from non-nil value to an empty string or nil is forbidden")]
    : [];
}

/** Only volumes whose class allows it may grow. */
function expansionRefusal(
  next: UnstructuredObject,
  old: UnstructuredObject,
  lookup: Lookup,
): StatusError | undefined {
  const path = ["spec", "resources", "requests", "storage"];
  if (compareQuantities(digText(next, ...path), digText(old, ...path)) <= 0) return undefined;
  const name = digText(next, "spec", "storageClassName");
  const storageClass = name === "" ? undefined : lookup(StorageClasses, { name });
  if (storageClass !== undefined && dig(storageClass, "allowVolumeExpansion") === true) return undefined;
  return new StatusError(
    "Forbidden",
    `persistentvolumeclaims ${JSON.stringify(next.metadata.name)} is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize`,
    { name: next.metadata.name, kind: "persistentvolumeclaims" },
  );
}

/** PersistentVolumeClaims as this server serves them. */
export const persistentVolumeClaims: BuiltinKind = {
  resource: PersistentVolumeClaims,
  schema: claimTypes.get("PersistentVolumeClaim"),
  singular: "persistentvolumeclaim",
  shortNames: ["pvc"],
  hasStatus: true,
  columns: [
    column("Status", (pvc) =>
      pvc.metadata.deletionTimestamp === undefined ? digText(pvc, "status", "phase") : "Terminating",
    ),
    column("Volume", (pvc) => digText(pvc, "spec", "volumeName")),
    column("Capacity", (pvc) =>
      digText(pvc, "spec", "volumeName") === "" ? "" : digText(pvc, "status", "capacity", "storage"),
    ),
    column("Access Modes", (pvc) =>
      digText(pvc, "spec", "volumeName") === "" ? "" : accessModes(digStrings(pvc, "status", "accessModes")),
    ),
    column("StorageClass", (pvc) => digText(pvc, "spec", "storageClassName")),
    column("VolumeAttributesClass", (pvc) => text(dig(pvc, "spec", "volumeAttributesClassName"), "<unset>")),
    ageColumn,
    wide("VolumeMode", (pvc) => text(dig(pvc, "spec", "volumeMode"), "<unset>")),
  ],
  rules: {
    prepareCreate(pvc) {
      pvc.status = { phase: "Pending" };
    },
    defaults: mirrorDataSource,
    validate: (pvc) => claimSpecErrors(digObject(pvc, "spec"), "spec"),
    validateUpdate: updateErrors,
    admitUpdate: expansionRefusal,
    admit: requireQuota,
  },
};
