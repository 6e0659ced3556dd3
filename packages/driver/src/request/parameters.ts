import { CsiError } from "@mooring/csi";
import {
  type ImageFeature,
  PROVISIONING_TYPES,
  type ProvisioningType,
  parseImageFeatures,
  type Volume,
} from "@mooring/engine";

/** Parameters of a StorageClass that the driver itself reads. */
export const POOL_PARAMETER = "pool";
/** `"true"`: a block volume of a shared pool that may be on two nodes while its workload moves. */
export const MIGRATABLE_PARAMETER = "migratable";
/** `thin` (default) or `thick`: all of a volume's room is set aside when it is made. */
export const PROVISIONING_PARAMETER = "provisioningType";
/** Features of the image in a Ceph pool, as ceph-csi has them: `layering,exclusive-lock`. */
export const IMAGE_FEATURES_PARAMETER = "imageFeatures";
/** What the Kubernetes provisioner adds about the claim; taken note of, never acted on. */
const KUBERNETES_PREFIX = "csi.storage.k8s.io/";

const POOL_NAME = /^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/;

/** What is wrong with a value, as the end of a sentence; undefined: nothing. */
const PARAMETERS: Readonly<Record<string, (value: string) => string | undefined>> = {
  [POOL_PARAMETER]: (value) => (POOL_NAME.test(value) ? undefined : "no name of a pool"),
  [MIGRATABLE_PARAMETER]: (value) =>
    value === "true" || value === "false" ? undefined : 'neither "true" nor "false"',
  [PROVISIONING_PARAMETER]: (value) => (isProvisioningType(value) ? undefined : 'neither "thin" nor "thick"'),
  [IMAGE_FEATURES_PARAMETER]: (value) => {
    const parsed = parseImageFeatures(value);
    return Array.isArray(parsed) ? undefined : parsed.wrong;
  },
};

function isProvisioningType(value: string | undefined): value is ProvisioningType {
  return PROVISIONING_TYPES.some((known) => known === value);
}

/** Returns the parameters as given. Throws INVALID_ARGUMENT for any that is not known or whose value is not valid. */
export function parseParameters(parameters: Record<string, string>): Record<string, string> {
  for (const [key, value] of Object.entries(parameters)) {
    if (key.startsWith(KUBERNETES_PREFIX)) continue;
    const rule = Object.hasOwn(PARAMETERS, key) ? PARAMETERS[key] : undefined;
    if (rule === undefined) {
      throw CsiError.invalidArgument(`parameter "${key}" is not known`, {
        hint: `Known parameters: ${Object.keys(PARAMETERS).join(", ")}.`,
      });
    }
    const wrong = rule(value);
    if (wrong !== undefined) throw CsiError.invalidArgument(`parameter "${key}": "${value}" is ${wrong}`);
  }
  return { ...parameters };
}

/** The volume is to be one that a running virtual machine can take along. */
export function isMigratable(parameters: Record<string, string>): boolean {
  return parameters[MIGRATABLE_PARAMETER] === "true";
}

/** What the parameters have of it; undefined: nothing, which is `thin`. */
export function provisioningOf(parameters: Record<string, string>): ProvisioningType | undefined {
  const value = parameters[PROVISIONING_PARAMETER];
  return isProvisioningType(value) ? value : undefined;
}

/** What the parameters have of them; undefined: nothing. */
export function imageFeaturesOf(parameters: Record<string, string>): ImageFeature[] | undefined {
  const value = parameters[IMAGE_FEATURES_PARAMETER];
  const parsed = value === undefined ? undefined : parseImageFeatures(value);
  return Array.isArray(parsed) ? parsed : undefined;
}

/** Throws INVALID_ARGUMENT: a thick volume gives nothing back, so what is to be discarded would be. */
export function requireNoDiscard(thick: boolean, mutableParameters: Record<string, string>): void {
  if (!thick || mutableParameters.discard !== "true") return;
  throw CsiError.invalidArgument('mutable parameter "discard": a thick volume keeps all its blocks', {
    hint: 'Leave it out, or take a class with provisioningType "thin".',
  });
}

/**
 * What distinguishes two requests of one name. What Kubernetes adds does not: whether it gives the names of its objects
 * is a setting, which may change between two attempts.
 */
export function comparedParameters(parameters: Record<string, string>): [string, string][] {
  return Object.entries(parameters)
    .filter(([key]) => !key.startsWith(KUBERNETES_PREFIX))
    .sort();
}

/** Mutable parameters that limit input and output, with the key of `io.max` (cgroup v2) that each becomes. */
const IO_LIMITS = {
  readBytesPerSecond: "rbps",
  writeBytesPerSecond: "wbps",
  readIOPS: "riops",
  writeIOPS: "wiops",
} as const;

type IoKey = (typeof IO_LIMITS)[keyof typeof IO_LIMITS];
/** A whole number per second; what is absent is not limited. */
export type IoLimits = Partial<Record<IoKey, string>>;

/** Takes a limit away again: keys of a volume's parameters are only ever added. */
const NONE = "max";

const IO_LIMIT = {
  describe: `a whole number above 0 per second, or "${NONE}"`,
  valid: (value: string): boolean => value === NONE || /^[1-9]\d{0,14}$/.test(value),
};

interface MutableParameter {
  describe: string;
  valid(value: string): boolean;
}

/** Parameters that may change while the volume is in use. */
const MUTABLE_PARAMETERS: Readonly<Record<string, MutableParameter>> = {
  readAheadKiB: {
    describe: "a whole number from 0 to 65536",
    valid: (value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_536,
  },
  discard: {
    describe: '"true" or "false"',
    valid: (value) => value === "true" || value === "false",
  },
  ...Object.fromEntries(Object.keys(IO_LIMITS).map((name) => [name, IO_LIMIT])),
};

/** Throws INVALID_ARGUMENT, before anything is changed, when one of them is not known or not valid. */
export function parseMutableParameters(parameters: Record<string, string>): Record<string, string> {
  for (const [key, value] of Object.entries(parameters)) {
    const rule = Object.hasOwn(MUTABLE_PARAMETERS, key) ? MUTABLE_PARAMETERS[key] : undefined;
    if (rule === undefined) {
      const known = Object.keys(MUTABLE_PARAMETERS).join(", ");
      throw CsiError.invalidArgument(`mutable parameter "${key}" is not known`, { hint: `Known: ${known}.` });
    }
    if (!rule.valid(value)) {
      throw CsiError.invalidArgument(`mutable parameter "${key}": "${value}" is not ${rule.describe}`);
    }
  }
  return { ...parameters };
}

/** The limits among a volume's mutable parameters. */
export function ioLimitsOf(parameters: Volume["spec"]["mutableParameters"]): IoLimits {
  const limits: IoLimits = {};
  for (const [name, key] of Object.entries(IO_LIMITS)) {
    const value = parameters?.[name];
    if (value !== undefined && value !== NONE) limits[key] = value;
  }
  return limits;
}

/** True when at least one I/O limit is set. */
export function hasLimits(limits: IoLimits): boolean {
  return Object.keys(limits).length > 0;
}
