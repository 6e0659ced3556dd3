import { RESERVED_PARAMETERS } from "../common/names.ts";
import type { VolumeGroup, VolumeGroupClass } from "../kube/volume-group.ts";
import { type SecretRef, type SecretRole, secretReference, TemplateError } from "../secrets/references.ts";

const KEYS = [
  `${RESERVED_PARAMETERS}volume-group-secret-name`,
  `${RESERVED_PARAMETERS}volume-group-secret-namespace`,
] as const;
const ROLE: SecretRole = { keys: [KEYS] };

/** What the driver gets of a class; throws {@link TemplateError} for a reserved key that does not exist. */
export function driverParameters({ parameters = {} }: VolumeGroupClass): Record<string, string> {
  const rest = Object.entries(parameters).filter(([key]) => !(KEYS as readonly string[]).includes(key));
  const unknown = rest.find(([key]) => key.startsWith(RESERVED_PARAMETERS));
  if (unknown !== undefined)
    throw new TemplateError(
      `parameter ${unknown[0]} is not known; with that prefix there are ${KEYS.join(" and ")}`,
    );
  return Object.fromEntries(rest);
}

/** The secret for all calls about a group. Throws {@link TemplateError}. */
export function groupSecretOf(
  { parameters = {} }: VolumeGroupClass,
  contentName: string,
  { metadata: { name, namespace = "" } }: VolumeGroup,
): SecretRef | undefined {
  return secretReference(ROLE, parameters, {
    namespace: { "volumegroupcontent.name": contentName, "volumegroup.namespace": namespace },
    name: { "volumegroup.name": name },
  });
}
