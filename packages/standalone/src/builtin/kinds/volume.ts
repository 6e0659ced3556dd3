import { PersistentVolumes, type UnstructuredObject } from "@mooring/store";
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
import { clone, isObject, jsonEqual } from "../../schema/model.ts";
import { compareQuantities } from "../../schema/quantity.ts";
import { immutable } from "../immutable.ts";
import { volumeKindTypes } from "../types/volume.ts";
import { accessModeErrors } from "./claim.ts";
import { classNameErrors } from "./driver-errors.ts";
import { nodeSelectorErrors } from "./selector-errors.ts";
import { volumeSourceErrors } from "./volume-source-errors.ts";

/** What of a volume's spec is not its source. */
const COMMON: ReadonlySet<string> = new Set([
  "accessModes",
  "capacity",
  "claimRef",
  "mountOptions",
  "nodeAffinity",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "volumeAttributesClassName",
  "volumeMode",
]);

function sources(spec: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !COMMON.has(field)));
}

function validateVolume(pv: UnstructuredObject): FieldError[] {
  const spec = digObject(pv, "spec");
  const errors: FieldError[] = [];
  const modes = digStrings(spec, "accessModes");
  if (modes.length === 0) errors.push(required("spec.accessModes"));
  errors.push(...accessModeErrors(modes, "spec.accessModes"));
  return [
    ...errors,
    ...capacityErrors(digObject(spec, "capacity")),
    ...classErrors(spec),
    ...affinityErrors(spec),
    ...volumeSourceErrors(spec, Object.keys(sources(spec))),
  ];
}

function capacityErrors(capacity: Record<string, unknown>): FieldError[] {
  const [first, ...more] = Object.keys(capacity);
  const errors = first === undefined ? [required("spec.capacity")] : [];
  if (first !== "storage" || more.length > 0)
    errors.push(notSupported("spec.capacity", capacity, ["storage"]));
  const { storage } = capacity;
  if (storage !== undefined && compareQuantities(String(storage), "0") <= 0)
    errors.push(invalid("spec.capacity[storage]", storage, "must be greater than zero"));
  return errors;
}

function classErrors(spec: Record<string, unknown>): FieldError[] {
  const name = digText(spec, "storageClassName");
  const attributes = spec.volumeAttributesClassName;
  const errors = name === "" ? [] : classNameErrors(name, "spec.storageClassName");
  const path = "spec.volumeAttributesClassName";
  if (attributes === "") return [...errors, required(path, "an empty string is disallowed")];
  return attributes === undefined ? errors : [...errors, ...classNameErrors(String(attributes), path)];
}

function affinityErrors({ nodeAffinity }: Record<string, unknown>): FieldError[] {
  if (!isObject(nodeAffinity)) return [];
  const path = "spec.nodeAffinity.required";
  return isObject(nodeAffinity.required)
    ? nodeSelectorErrors(nodeAffinity.required, path)
    : [required(path, "must specify required node constraints")];
}

const EXPAND_SECRETS = ["controllerExpandSecretRef", "nodeExpandSecretRef"];

function updateErrors(next: UnstructuredObject, old: UnstructuredObject, subresource: string): FieldError[] {
  if (subresource === "status") return [];
  const [after, before] = [clone(digObject(next, "spec")), clone(digObject(old, "spec"))];
  const [csiAfter, csiBefore] = [digObject(after, "csi"), digObject(before, "csi")];
  for (const secret of EXPAND_SECRETS) if (csiBefore[secret] === undefined) delete csiAfter[secret];
  const errors = jsonEqual(sources(after), sources(before))
    ? []
    : [forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")];
  errors.push(...immutable(next, old, "spec.volumeMode"));
  if (isObject(before.nodeAffinity) && !jsonEqual(after.nodeAffinity, before.nodeAffinity)) {
    errors.push(invalid("spec.nodeAffinity", after.nodeAffinity ?? null, "field is immutable"));
  }
  const [attributes, was] = [
    digText(after, "volumeAttributesClassName"),
    digText(before, "volumeAttributesClassName"),
  ];
  if (was !== "" && attributes === "") {
    const detail = "update from non-nil value to an empty string or nil is forbidden";
    errors.push(forbidden("spec.volumeAttributesClassName", detail));
  }
  return errors;
}

function claimOf(pv: UnstructuredObject): string {
  const claim = digObject(pv, "spec", "claimRef");
  return claim.name === undefined ? "" : `${digText(claim, "namespace")}/${digText(claim, "name")}`;
}

/** PersistentVolumes as this server serves them. */
export const persistentVolumes: BuiltinKind = {
  resource: PersistentVolumes,
  schema: volumeKindTypes.get("PersistentVolume"),
  singular: "persistentvolume",
  shortNames: ["pv"],
  hasStatus: true,
  columns: [
    column("Capacity", (pv) => digText(pv, "spec", "capacity", "storage")),
    column("Access Modes", (pv) => accessModes(digStrings(pv, "spec", "accessModes"))),
    column("Reclaim Policy", (pv) => digText(pv, "spec", "persistentVolumeReclaimPolicy")),
    column("Status", (pv) =>
      pv.metadata.deletionTimestamp === undefined ? digText(pv, "status", "phase") : "Terminating",
    ),
    column("Claim", claimOf),
    column("StorageClass", (pv) => digText(pv, "spec", "storageClassName")),
    column("VolumeAttributesClass", (pv) => text(dig(pv, "spec", "volumeAttributesClassName"), "<unset>")),
    column("Reason", (pv) => digText(pv, "status", "reason")),
    ageColumn,
    wide("VolumeMode", (pv) => text(dig(pv, "spec", "volumeMode"), "<unset>")),
  ],
  rules: {
    prepareCreate(pv) {
      pv.status = { phase: "Pending" };
    },
    validate: validateVolume,
    validateUpdate: updateErrors,
  },
};
