import type { KubeObject, ObjectMeta } from "@mooring/store";
import { TypeTable } from "./dsl.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "./field-error.ts";
import { nameProblems, qualifiedNameProblems } from "./formats.ts";

/** meta/v1 types that every kind uses. */
export const metaTypes = new TypeTable(
  "io.k8s.apimachinery.pkg.apis.meta.v1",
  `
type OwnerReference "An object that this one belongs to; this one is collected when all its owners are gone."
  apiVersion!: string -- API version of the owner.
  kind!: string -- Kind of the owner.
  name!: string -- Name of the owner.
  uid!: string -- UID of the owner; a namesake created later does not count.
  controller: bool -- True for the one owner that manages this object.
  blockOwnerDeletion: bool -- Foreground deletion of the owner waits for this object.
type FieldsV1 open "A set of fields in the form of a tree."
type ManagedFieldsEntry "Which fields one manager has set."
  manager: string -- Name of the manager.
  operation: string -- Apply or Update.
  apiVersion: string -- Version that the field names belong to.
  time: time -- When this entry last changed.
  fieldsType: string -- Always FieldsV1.
  fieldsV1: FieldsV1 -- The fields.
  subresource: string -- Subresource through which they were set; empty for the object itself.
type ObjectMeta "Identity and bookkeeping that every object has."
  name: string -- Unique within the namespace and kind; never changes.
  generateName: string -- Prefix from which the server makes a unique name when none is given.
  namespace: string -- Space within which the name is unique; empty for cluster-wide objects.
  selfLink: string -- No longer used.
  uid: string -- Identity in time and space, set by the server.
  resourceVersion: string -- Opaque version of this object, for conflict detection and watches.
  generation: int64 -- Counts changes of the desired state.
  creationTimestamp: time -- When the object was created; set by the server.
  deletionTimestamp: time -- Set once the object is being deleted; it goes when its finalizers are gone.
  deletionGracePeriodSeconds: int64 -- Seconds the object may take to end gracefully.
  labels: {}string -- Keys and values to select objects by.
  annotations: {}string -- Keys and values that tools keep with the object.
  ownerReferences: []OwnerReference map(uid) merge(uid) -- Objects this one belongs to.
  finalizers: []string set merge -- What must happen before the object may go; each is removed by who added it.
  managedFields: []ManagedFieldsEntry -- Who set which fields; kept by the server.
type LabelSelectorRequirement "One condition on labels."
  key!: string -- Label key.
  operator!: string -- In, NotIn, Exists or DoesNotExist.
  values: []string -- Values for In and NotIn; empty for the others.
type LabelSelector "A query over labels; all its conditions must match."
  matchLabels: {}string -- Labels that must be there with these values.
  matchExpressions: []LabelSelectorRequirement -- Further conditions.
type Condition "One observed aspect of an object's state."
  type!: string -- Name of the aspect.
  status!: string enum(True,False,Unknown) -- Whether it is true.
  observedGeneration: int64 -- Generation that the condition was derived from.
  lastTransitionTime!: time -- When the status last changed.
  reason!: string -- Reason in CamelCase.
  message!: string -- Human-readable message.
`,
);
const listMeta = new TypeTable(
  "io.k8s.apimachinery.pkg.apis.meta.v1",
  `
type ListMeta "Bookkeeping of a list."
  resourceVersion: string -- Version that the list is a picture of; a watch may start from it.
  continue: string -- Where the next page begins; empty on the last one.
  remainingItemCount: int64 -- Items on the pages that follow, when known.
  selfLink: string -- No longer used.
`,
);
/** `metadata` of every object, as in the documents of `/openapi`. */
export const objectMetaSchema = metaTypes.get("ObjectMeta");
/** `metadata` of every list. */
export const listMetaSchema = listMeta.get("ListMeta");
// One value each: half of one means nothing.
for (const name of ["OwnerReference", "LabelSelector"])
  metaTypes.get(name)["x-kubernetes-map-type"] = "atomic";

/** What a kind's names may be: a DNS subdomain (253 characters), a DNS label of RFC 1123 or RFC 1035 (63), or any segment of a path. */
export type NameKind = "subdomain" | "label" | "label1035" | "path";
const ANNOTATIONS_LIMIT = 256 * 1024;

/** What an API server demands of `metadata`. Kinds of extension servers may have finalizers without a domain. */
export function validateMeta(object: KubeObject, name: NameKind, extension: boolean): FieldError[] {
  const { metadata } = object;
  return [
    ...nameErrors(metadata, name),
    ...labelErrors(metadata.labels ?? {}, "metadata.labels"),
    ...annotationErrors(metadata.annotations ?? {}),
    ...finalizerErrors(metadata.finalizers ?? [], extension),
    ...ownerErrors(metadata),
  ];
}

function nameErrors(metadata: ObjectMeta, kind: NameKind): FieldError[] {
  const { name, generateName } = metadata;
  const problems = (text: string): string[] =>
    kind === "path"
      ? /[/%]|^\.\.?$/.test(text)
        ? ["may not contain '/' or '%' and may not be '.' or '..'"]
        : []
      : nameProblems(kind, text);
  const errors: FieldError[] = [];
  if (generateName !== undefined && generateName !== "") {
    const probe = generateName.endsWith("-") ? `${generateName.slice(0, -1)}a` : generateName;
    errors.push(...problems(probe).map((p) => invalid("metadata.generateName", generateName, p)));
  }
  if (name === undefined || name === "") {
    if (generateName === undefined || generateName === "") {
      errors.push(required("metadata.name", "name or generateName is required"));
    }
  } else errors.push(...problems(name).map((p) => invalid("metadata.name", name, p)));
  return errors;
}

/** What is wrong with labels at `path`: a key that is no qualified name, or a value that no label can have. */
export function labelErrors(labels: Readonly<Record<string, string>>, path: string): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map((p) => invalid(path, key, p)),
    ...nameProblems("labelValue", value).map((p) => invalid(path, value, p)),
  ]);
}

function annotationErrors(annotations: Readonly<Record<string, string>>): FieldError[] {
  const path = "metadata.annotations";
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    errors.push(...qualifiedNameProblems(key.toLowerCase()).map((p) => invalid(path, key, p)));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATIONS_LIMIT) errors.push(tooLong(path, ANNOTATIONS_LIMIT));
  return errors;
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

function finalizerErrors(finalizers: readonly string[], extension: boolean): FieldError[] {
  const errors = finalizers.flatMap((text, i) => {
    const field = `metadata.finalizers[${i}]`;
    const problems = qualifiedNameProblems(text);
    if (!extension && problems.length === 0 && !text.includes("/") && !STANDARD_FINALIZERS.has(text)) {
      problems.push("name is neither a standard finalizer name nor is it fully qualified");
    }
    return problems.map((p) => invalid(field, text, p));
  });
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const detail = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalid("metadata.finalizers", finalizers, detail));
  }
  return errors;
}

function ownerErrors(metadata: ObjectMeta): FieldError[] {
  const owners = metadata.ownerReferences ?? [];
  const errors = owners.flatMap((owner, i) =>
    (["apiVersion", "kind", "name", "uid"] as const)
      .filter((field) => owner[field] === undefined || owner[field] === "")
      .map((field) => {
        const subject = field === "apiVersion" ? "version " : "";
        return invalid(
          `metadata.ownerReferences[${i}].${field}`,
          owner[field] ?? "",
          `${subject}must not be empty`,
        );
      }),
  );
  const controllers = owners.filter((owner) => owner.controller === true).map((owner) => owner.name);
  if (controllers.length > 1) {
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controllers.join(" and ")}`;
    errors.push(invalid("metadata.ownerReferences", owners, detail));
  }
  return errors;
}

/** What a change of `metadata` may not do. */
export function validateMetaUpdate(next: KubeObject, old: KubeObject): FieldError[] {
  if (old.metadata.deletionTimestamp === undefined) return [];
  const before = new Set(old.metadata.finalizers ?? []);
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (added.length === 0) return [];
  const list = `[]string{${added.map((f) => JSON.stringify(f)).join(", ")}}`;
  return [
    forbidden(
      "metadata.finalizers",
      `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`,
    ),
  ];
}
