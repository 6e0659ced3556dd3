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
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../schema/field-error.ts";
import { nameProblems, qualifiedNameProblems } from "../../schema/formats.ts";
import { isObject, jsonEqual } from "../../schema/model.ts";
import { compareQuantities } from "../../schema/quantity.ts";
import { immutable, noUpdates } from "../immutable.ts";
import { storageTypes } from "../types/storage.ts";
import { classNameErrors, driverNameErrors, parameterErrors } from "./driver-errors.ts";
import { labelSelectorErrors, topologyErrors } from "./selector-errors.ts";

const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
const OLD_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class";

function isDefaultClass(object: UnstructuredObject): boolean {
  const annotations = object.metadata.annotations ?? {};
  return annotations[DEFAULT_CLASS] === "true" || annotations[OLD_DEFAULT_CLASS] === "true";
}

function qualifiedDriverErrors(object: UnstructuredObject, field: string): FieldError[] {
  const name = digText(object, field);
  if (name === "") return [required(field)];
  return qualifiedNameProblems(name.toLowerCase()).map((problem) => invalid(field, name, problem));
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
      return [
        ...qualifiedDriverErrors(sc, "provisioner"),
        ...parameterErrors(digObject(sc, "parameters"), "parameters"),
        ...topologyErrors(digList(sc, "allowedTopologies"), "allowedTopologies"),
      ];
    },
    validateUpdate: (next, old) => [
      ...noUpdates(next, old, "parameters", "provisioner", "reclaimPolicy"),
      ...immutable(next, old, "volumeBindingMode"),
    ],
  },
};

function attachmentErrors(va: UnstructuredObject): FieldError[] {
  const nodeName = digText(va, "spec", "nodeName");
  const errors = [
    ...driverNameErrors(digText(va, "spec", "attacher"), "spec.attacher"),
    ...nameProblems("subdomain", nodeName).map((problem) => invalid("spec.nodeName", nodeName, problem)),
  ];
  const source = digObject(va, "spec", "source");
  const volume = source.persistentVolumeName;
  const named = volume !== undefined;
  const inline = isObject(source.inlineVolumeSpec);
  if (!named && !inline) {
    errors.push(
      required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"),
    );
  }
  if (named && inline) {
    const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    errors.push(forbidden("spec.source", detail));
  }
  const path = "spec.source.persistentVolumeName";
  if (volume === "") errors.push(required(path));
  if (named) errors.push(...classNameErrors(String(volume), path));
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

const LIFECYCLE_MODES = ["Ephemeral", "Persistent"];
const FS_GROUP_POLICIES = ["File", "None", "ReadWriteOnceWithFSType"];
/** Seconds that a token may be valid for. */
const TOKEN_SECONDS = { least: 600, most: 2 ** 32 };

function driverErrors(spec: Record<string, unknown>): FieldError[] {
  const modes = digStrings(spec, "volumeLifecycleModes").filter((mode) => !LIFECYCLE_MODES.includes(mode));
  const policy = digText(spec, "fsGroupPolicy");
  const tokens = digList(spec, "tokenRequests");
  const errors = [
    ...modes.map((mode) => notSupported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES)),
    ...(FS_GROUP_POLICIES.includes(policy)
      ? []
      : [notSupported("spec.fsGroupPolicy", policy, FS_GROUP_POLICIES)]),
    ...tokens.flatMap((token, i) => tokenErrors(token, tokens.slice(0, i), `spec.tokenRequests[${i}]`)),
  ];
  const path = "spec.serviceAccountTokenInSecrets";
  if (spec.serviceAccountTokenInSecrets === true && tokens.length === 0)
    errors.push(invalid(path, true, "may only be set when tokenRequests is set"));
  return errors;
}

function tokenErrors(
  { audience, expirationSeconds }: Record<string, unknown>,
  before: readonly Record<string, unknown>[],
  path: string,
): FieldError[] {
  const errors = before.some((other) => other.audience === audience)
    ? [duplicate(`${path}.audience`, audience)]
    : [];
  if (typeof expirationSeconds !== "number") return errors;
  const { least, most } = TOKEN_SECONDS;
  const at = `${path}.expirationSeconds`;
  if (expirationSeconds < least)
    errors.push(invalid(at, expirationSeconds, "may not specify a duration less than 10 minutes"));
  if (expirationSeconds > most)
    errors.push(invalid(at, expirationSeconds, "may not specify a duration larger than 2^32 seconds"));
  return errors;
}

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
    validate: (d) => [
      ...(d.metadata.name.length > 63
        ? [invalid("metadata.name", d.metadata.name, "must be no more than 63 bytes")]
        : []),
      ...driverErrors(digObject(d, "spec")),
    ],
    validateUpdate: (next, old) => immutable(next, old, "spec.attachRequired", "spec.volumeLifecycleModes"),
  },
};

function nodeDriverErrors(node: UnstructuredObject): FieldError[] {
  const drivers = digList(node, "spec", "drivers");
  return drivers.flatMap((driver, i) => {
    const path = `spec.drivers[${i}]`;
    const count = dig(driver, "allocatable", "count");
    return [
      ...driverNameErrors(digText(driver, "name"), `${path}.name`),
      ...(drivers.slice(0, i).some(({ name }) => name === driver.name)
        ? [duplicate(`${path}.name`, driver.name)]
        : []),
      ...(digText(driver, "nodeID") === "" ? [required(`${path}.nodeID`)] : []),
      ...topologyKeyErrors(digStrings(driver, "topologyKeys"), path),
      ...(typeof count === "number" && count < 0
        ? [invalid(`${path}.allocatable.count`, count, "must be greater than or equal to 0")]
        : []),
    ];
  });
}

function topologyKeyErrors(keys: readonly string[], path: string): FieldError[] {
  return keys.flatMap((key, i) => [
    ...(key === "" ? [required(path, "a topology key may not be empty")] : []),
    ...(keys.indexOf(key) < i ? [duplicate(path, key)] : []),
    ...qualifiedNameProblems(key).map((problem) => invalid(path, key, problem)),
  ]);
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
    validate(object) {
      const capacity = dig(object, "capacity");
      return [
        ...classNameErrors(digText(object, "storageClassName"), "storageClassName"),
        ...labelSelectorErrors(object.nodeTopology, "nodeTopology"),
        ...(capacity !== undefined && compareQuantities(String(capacity), "0") < 0
          ? [invalid("capacity", capacity, "must be greater than or equal to 0")]
          : []),
      ];
    },
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
      const parameters = digObject(vac, "parameters");
      return [
        ...qualifiedDriverErrors(vac, "driverName"),
        ...(Object.keys(parameters).length > 0
          ? parameterErrors(parameters, "parameters")
          : [required("parameters", "must contain at least one key/value pair")]),
      ];
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
