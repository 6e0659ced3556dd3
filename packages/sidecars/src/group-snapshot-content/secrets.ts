import type { VolumeGroupSnapshotClass, VolumeGroupSnapshotContent } from "@mooring/store";
import {
  FROZEN_GROUP_GET_SECRET,
  GROUP_SECRET_NAME,
  GROUP_SECRET_NAMESPACE,
  RESERVED_PARAMETERS,
} from "../common/names.ts";
import {
  GROUP_CLASS_ROLES,
  groupClassTokens,
  type SecretRef,
  secretReference,
  TemplateError,
} from "../secrets/references.ts";

const SECRET_KEYS: ReadonlySet<string> = new Set(
  Object.values(GROUP_CLASS_ROLES).flatMap((role) => role.keys.flat()),
);
/** Keys of single snapshots, which the same parameters may carry. */
const SINGLE_KEY = /^snapshotter(-list)?-secret-(name|namespace)$/;

/** What the driver gets of a group class; throws {@link TemplateError} for a reserved key that does not exist. */
export function groupParameters(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(parameters).filter(([key]) => !SECRET_KEYS.has(key));
  const reserved = kept.filter(([key]) => key.startsWith(RESERVED_PARAMETERS));
  const unknown = reserved.find(([key]) => !SINGLE_KEY.test(key.slice(RESERVED_PARAMETERS.length)));
  if (unknown !== undefined)
    throw new TemplateError(
      `found unknown parameter key "${unknown[0]}" with reserved namespace csi.storage.k8s.io`,
    );
  return Object.fromEntries(kept.filter(([key]) => !key.startsWith(RESERVED_PARAMETERS)));
}

/**
 * Annotations that keep on a content which secrets its class names, so that the class may be gone when they are
 * needed. Throws {@link TemplateError}.
 */
export function secretAnnotations(
  contentName: string,
  group: { name: string; namespace: string },
  { parameters = {} }: VolumeGroupSnapshotClass,
): Record<string, string> {
  const tokens = groupClassTokens(contentName, group);
  const secret = secretReference(GROUP_CLASS_ROLES.snapshotter, parameters, tokens);
  const get = secretReference(GROUP_CLASS_ROLES.get, parameters, tokens);
  return {
    ...(secret === undefined
      ? {}
      : { [GROUP_SECRET_NAME]: secret.name, [GROUP_SECRET_NAMESPACE]: secret.namespace }),
    ...(get === undefined ? {} : { [FROZEN_GROUP_GET_SECRET]: JSON.stringify(get) }),
  };
}

/** The secret for creating and deleting. */
export function groupSecret({ metadata }: VolumeGroupSnapshotContent): SecretRef | undefined {
  const { [GROUP_SECRET_NAME]: name, [GROUP_SECRET_NAMESPACE]: namespace } = metadata.annotations ?? {};
  return name && namespace ? { name, namespace } : undefined;
}

/** The secret for GetVolumeGroupSnapshot; without one of its own, that for creating: all calls about a group should get the same. */
export function groupGetSecret(content: VolumeGroupSnapshotContent): SecretRef | undefined {
  const frozen = content.metadata.annotations?.[FROZEN_GROUP_GET_SECRET];
  return frozen === undefined ? groupSecret(content) : (JSON.parse(frozen) as SecretRef);
}
