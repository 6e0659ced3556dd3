import {
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  KubeVolumeAttachments,
  StorageClasses,
  type UnstructuredObject,
  VolumeAttributesClasses,
} from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digList,
  digObject,
  digStrings,
  digText,
  text,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, invalid, required } from "../../schema/field-error.ts";
import { qualifiedNameProblems } from "../../schema/formats.ts";
import { isObject, jsonEqual } from "../../schema/model.ts";
import { immutable, noUpdates } from "../immutable.ts";
import { storageTypes } from "../types/storage.ts";

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
const OLD_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class";

function isDefaultClass(object: UnstructuredObject): boolean {
  const annotations = object.metadata.annotations ?? {};
  return annotations[DEFAULT_CLASS] === "true" || annotations[OLD_DEFAULT_CLASS] === "true";
}

const storageClasses: BuiltinKind = {
  resource: StorageClasses,
  schema: storageTypes.get("StorageClass"),
  singular: "storageclass",
  shortNames: ["sc"],
  nameColumn: column("Name", (sc) => `${sc.metadata.name}${isDefaultClass(sc) ? " (default)" : ""}`, {
    format: "name",
  }),
  columns: [
    column("Provisioner", (sc) => digText(sc, "provisioner")),
    column("ReclaimPolicy", (sc) => digText(sc, "reclaimPolicy")),
    column("VolumeBindingMode", (sc) => digText(sc, "volumeBindingMode")),
    column("AllowVolumeExpansion", (sc) => String(dig(sc, "allowVolumeExpansion") === true)),
    ageColumn,
  ],
  rules: {
    validate(sc) {
      const provisioner = digText(sc, "provisioner");
      if (provisioner === "") return [required("provisioner")];
      const problems = qualifiedNameProblems(provisioner.toLowerCase());
      return problems.map((p) => invalid("provisioner", provisioner, p));
    },
    validateUpdate: (next, old) => [
      ...noUpdates(next, old, "parameters", "provisioner", "reclaimPolicy"),
      ...immutable(next, old, "volumeBindingMode"),
    ],
  },
};

function attachmentErrors(va: UnstructuredObject): FieldError[] {
  const errors: FieldError[] = [];
  if (digText(va, "spec", "attacher") === "") errors.push(required("spec.attacher"));
  if (digText(va, "spec", "nodeName") === "") errors.push(required("spec.nodeName"));
  const source = digObject(va, "spec", "source");
  const named = digText(source, "persistentVolumeName") !== "";
  const inline = isObject(source.inlineVolumeSpec);
  if (!named && !inline) {
    errors.push(
      required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"),
    );
  }
  if (named && inline) {
    const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    errors.push({ reason: "FieldValueForbidden", field: "spec.source", body: `Forbidden: ${detail}` });
  }
  return errors;
}

const volumeAttachments: BuiltinKind = {
  resource: KubeVolumeAttachments,
  schema: storageTypes.get("VolumeAttachment"),
  singular: "volumeattachment",
  hasStatus: true,
  columns: [
    column("Attacher", (va) => digText(va, "spec", "attacher")),
    column("PV", (va) => digText(va, "spec", "source", "persistentVolumeName")),
    column("Node", (va) => digText(va, "spec", "nodeName")),
    column("Attached", (va) => String(dig(va, "status", "attached") === true)),
    ageColumn,
  ],
  rules: {
    prepareCreate(va) {
      va.status = { attached: false };
    },
    prepareUpdate(va) {
      va.status ??= { attached: false };
    },
    validate: attachmentErrors,
    validateUpdate: (next, old) => immutable(next, old, "spec"),
  },
};

const csiDrivers: BuiltinKind = {
  resource: CSIDrivers,
  schema: storageTypes.get("CSIDriver"),
  singular: "csidriver",
  columns: [
    column("AttachRequired", (d) => dig(d, "spec", "attachRequired") === true, { type: "boolean" }),
    column("PodInfoOnMount", (d) => dig(d, "spec", "podInfoOnMount") === true, { type: "boolean" }),
    column("StorageCapacity", (d) => dig(d, "spec", "storageCapacity") === true, { type: "boolean" }),
    column("TokenRequests", (d) =>
      text(
        digList(d, "spec", "tokenRequests")
          .map((t) => t.audience)
          .join(","),
        "<unset>",
      ),
    ),
    column("RequiresRepublish", (d) => dig(d, "spec", "requiresRepublish") === true, { type: "boolean" }),
    column("Modes", (d) => text(digStrings(d, "spec", "volumeLifecycleModes").join(","))),
    ageColumn,
  ],
  rules: {
    defaults(driver) {
      const spec = digObject(driver, "spec");
      if (digStrings(spec, "volumeLifecycleModes").length === 0) spec.volumeLifecycleModes = ["Persistent"];
    },
    validate: (d) =>
      d.metadata.name.length > 63
        ? [invalid("metadata.name", d.metadata.name, "must be no more than 63 bytes")]
        : [],
    validateUpdate: (next, old) => immutable(next, old, "spec.attachRequired", "spec.volumeLifecycleModes"),
  },
};

function nodeDriverErrors(node: UnstructuredObject): FieldError[] {
  return digList(node, "spec", "drivers").flatMap((driver, i) => {
    const path = `spec.drivers[${i}]`;
    return ["name", "nodeID"].filter((f) => digText(driver, f) === "").map((f) => required(`${path}.${f}`));
  });
}

/** A driver's entry may come and go; while it is there it stays what it is. */
function nodeDriverChanges(next: UnstructuredObject, old: UnstructuredObject): FieldError[] {
  const before = new Map(digList(old, "spec", "drivers").map((driver) => [driver.name, driver]));
  return digList(next, "spec", "drivers").flatMap((driver, i) => {
    const was = before.get(driver.name);
    const fixed = (d: Record<string, unknown>) => [d.nodeID, d.topologyKeys ?? []];
    return was === undefined || jsonEqual(fixed(was), fixed(driver))
      ? []
      : [invalid(`spec.drivers[${i}]`, driver, "field is immutable")];
  });
}

const csiNodes: BuiltinKind = {
  resource: CSINodes,
  schema: storageTypes.get("CSINode"),
  singular: "csinode",
  columns: [
    column("Drivers", (node) => digList(node, "spec", "drivers").length, { type: "integer" }),
    ageColumn,
  ],
  rules: { validate: nodeDriverErrors, validateUpdate: nodeDriverChanges },
};

const csiStorageCapacities: BuiltinKind = {
  resource: CSIStorageCapacities,
  schema: storageTypes.get("CSIStorageCapacity"),
  singular: "csistoragecapacity",
  columns: [
    column("StorageClassName", (c) => digText(c, "storageClassName")),
    column("Capacity", (c) => text(dig(c, "capacity"), "<unset>")),
  ],
  rules: {
    validateUpdate: (next, old) => immutable(next, old, "nodeTopology", "storageClassName"),
  },
};

const volumeAttributesClasses: BuiltinKind = {
  resource: VolumeAttributesClasses,
  schema: storageTypes.get("VolumeAttributesClass"),
  singular: "volumeattributesclass",
  shortNames: ["vac"],
  columns: [column("DriverName", (vac) => digText(vac, "driverName")), ageColumn],
  rules: {
    validate(vac) {
      const errors = digText(vac, "driverName") === "" ? [required("driverName")] : [];
      return Object.keys(digObject(vac, "parameters")).length > 0
        ? errors
        : [...errors, required("parameters", "must contain at least one key/value pair")];
    },
    validateUpdate: (next, old) => [
      ...immutable(next, old, "driverName"),
      ...noUpdates(next, old, "parameters"),
    ],
  },
};

/** Kinds of storage.k8s.io. */
export const storageKinds: readonly BuiltinKind[] = [
  storageClasses,
  volumeAttachments,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  volumeAttributesClasses,
];
