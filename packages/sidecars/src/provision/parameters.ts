import { RESERVED_PARAMETERS } from "../common/names.ts";
import { STORAGE_CLASS_ROLES } from "../secrets/references.ts";

const SECRET_KEYS: ReadonlySet<string> = new Set(
  Object.values(STORAGE_CLASS_ROLES).flatMap((role) => [...role.keys.flat(), ...role.fallback]),
);
const FS_TYPE = `${RESERVED_PARAMETERS}fstype`;

type FsType = { fsType: string | undefined } | { error: string };

/** `csi.storage.k8s.io/fstype`, or `fstype` in any spelling as it was before 1.0; not both. */
export function fsTypeOf(parameters: Readonly<Record<string, string>>): FsType {
  const keys = Object.keys(parameters).filter((key) => key === FS_TYPE || key.toLowerCase() === "fstype");
  if (keys.length > 1) return { error: `fstype is given more than once: ${keys.join(", ")}` };
  const [key] = keys;
  return { fsType: key === undefined ? undefined : parameters[key] };
}

type DriverParameters = { parameters: Record<string, string> } | { error: string };

/**
 * What the driver gets of a class's parameters: everything that is not ours (K8S-027). Keys with the reserved prefix never
 * reach it, and an unknown one is a typing mistake. The keys of secrets from before there was a prefix do, as they always have.
 */
export function driverParameters(parameters: Readonly<Record<string, string>>): DriverParameters {
  const reserved = Object.keys(parameters).filter((key) => key.startsWith(RESERVED_PARAMETERS));
  const unknown = reserved.find((key) => !SECRET_KEYS.has(key) && key !== FS_TYPE);
  const kept = Object.entries(parameters).filter(([key]) => !reserved.includes(key));
  return unknown === undefined
    ? { parameters: Object.fromEntries(kept) }
    : {
        error: `found unknown parameter key "${unknown}" with reserved namespace ${RESERVED_PARAMETERS.slice(0, -1)}`,
      };
}
