import { RESERVED_PARAMETERS } from "../common/names.ts";
import { expandTemplate, isDnsLabel, isDnsSubdomain, TemplateError } from "./template.ts";

/** Where a secret is; never what is in it. */
export interface SecretRef {
  name: string;
  namespace: string;
}

/** A role of a secret: the class keys that choose it, newest first. */
export interface SecretRole {
  readonly keys: readonly (readonly [name: string, namespace: string])[];
  /** Keys used when the role has none of its own. */
  readonly fallback?: readonly [name: string, namespace: string];
}

/** Values that templates may use: `name` templates may use both maps, `namespace` templates only the first. */
interface TemplateTokens {
  namespace: Readonly<Record<string, string>>;
  name: Readonly<Record<string, string>>;
}

const pair = (role: string): readonly [string, string] => [
  `${RESERVED_PARAMETERS}${role}-name`,
  `${RESERVED_PARAMETERS}${role}-namespace`,
];
const legacy = (role: string): readonly [string, string] => [`csi${role}Name`, `csi${role}Namespace`];
const fallback = pair("secret");

/** Roles of a StorageClass. The unprefixed keys are from before 1.0 and still valid. */
export const STORAGE_CLASS_ROLES = {
  provisioner: { keys: [pair("provisioner-secret"), legacy("ProvisionerSecret")], fallback },
  controllerPublish: {
    keys: [pair("controller-publish-secret"), legacy("ControllerPublishSecret")],
    fallback,
  },
  nodeStage: { keys: [pair("node-stage-secret"), legacy("NodeStageSecret")], fallback },
  nodePublish: { keys: [pair("node-publish-secret"), legacy("NodePublishSecret")], fallback },
  controllerExpand: { keys: [pair("controller-expand-secret")], fallback },
  nodeExpand: { keys: [pair("node-expand-secret")], fallback },
  controllerModify: { keys: [pair("controller-modify-secret")], fallback },
} as const satisfies Record<string, SecretRole>;

/** Roles of a VolumeSnapshotClass. */
export const SNAPSHOT_CLASS_ROLES = {
  snapshotter: { keys: [pair("snapshotter-secret")] },
  list: { keys: [pair("snapshotter-list-secret")] },
} as const satisfies Record<string, SecretRole>;

/** Roles of a VolumeGroupSnapshotClass. */
export const GROUP_CLASS_ROLES = {
  snapshotter: { keys: [pair("group-snapshotter-secret")] },
  get: { keys: [pair("group-snapshotter-get-secret")] },
} as const satisfies Record<string, SecretRole>;

/**
 * The secret that a class names for a role, or undefined when it names none. Throws {@link TemplateError} when the
 * keys contradict each other, are incomplete, or give something that is not a name.
 */
export function secretReference(
  role: SecretRole,
  parameters: Readonly<Record<string, string>>,
  tokens: TemplateTokens,
): SecretRef | undefined {
  const own = role.keys.filter((keys) => keys.some((key) => Object.hasOwn(parameters, key)));
  if (own.length > 1)
    throw new TemplateError(`${own.flat().join(", ")} are set together: old and new keys exclude each other`);
  const keys = own[0] ?? role.fallback;
  if (keys === undefined || !keys.some((key) => Object.hasOwn(parameters, key))) return undefined;
  const [name = "", namespace = ""] = keys.map((key) => parameters[key] ?? "");
  if (name === "" || namespace === "")
    throw new TemplateError(`${keys.join(" and ")} must both be set and not be empty`);
  const ref = {
    name: expandTemplate(name, { ...tokens.namespace, ...tokens.name }),
    namespace: expandTemplate(namespace, tokens.namespace),
  };
  if (!isDnsLabel(ref.namespace))
    throw new TemplateError(`"${namespace}" gives "${ref.namespace}", which is not a namespace name`);
  if (!isDnsSubdomain(ref.name))
    throw new TemplateError(`"${name}" gives "${ref.name}", which is not a secret name`);
  return ref;
}

/** Tokens of StorageClass templates. The volume's name is known before the volume exists. */
export function storageClassTokens(
  volumeName: string,
  claim: { metadata: { name: string; namespace?: string; annotations?: Record<string, string> } },
): TemplateTokens {
  const { name, namespace = "", annotations = {} } = claim.metadata;
  const ofAnnotations = Object.entries(annotations).map(([key, value]) => [
    `pvc.annotations['${key}']`,
    value,
  ]);
  return {
    namespace: { "pv.name": volumeName, "pvc.namespace": namespace },
    name: { "pvc.name": name, ...Object.fromEntries(ofAnnotations) },
  };
}

/** Tokens of VolumeSnapshotClass templates. Without a snapshot (listing) only the content's name is known. */
export function snapshotClassTokens(
  contentName: string,
  snapshot?: { metadata: { name: string; namespace?: string } },
): TemplateTokens {
  const content = { "volumesnapshotcontent.name": contentName };
  if (snapshot === undefined) return { namespace: content, name: {} };
  return {
    namespace: { ...content, "volumesnapshot.namespace": snapshot.metadata.namespace ?? "" },
    name: { "volumesnapshot.name": snapshot.metadata.name },
  };
}

/** Tokens of VolumeGroupSnapshotClass templates. */
export function groupClassTokens(
  contentName: string,
  group: { name: string; namespace: string },
): TemplateTokens {
  return {
    namespace: {
      "volumegroupsnapshotcontent.name": contentName,
      "volumegroupsnapshot.namespace": group.namespace,
    },
    name: { "volumegroupsnapshot.name": group.name },
  };
}

export { TemplateError };
