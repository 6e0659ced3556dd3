import type { DeclaredCsiDriver } from "@mooring/sidecars";
import { InvalidArgumentError, Option } from "commander";

type Parse = (text: string) => unknown;

const yesOrNo: Parse = (text) => {
  if (text === "true" || text === "false") return text === "true";
  throw new InvalidArgumentError("true or false");
};

const oneOf =
  (...values: string[]): Parse =>
  (text) => {
    if (values.includes(text)) return text;
    throw new InvalidArgumentError(`one of ${values.join(", ")}`);
  };

const some =
  (...values: string[]): Parse =>
  (text) => {
    const given = text.split(",").map((each) => each.trim());
    if (given.every((each) => values.includes(each))) return given;
    throw new InvalidArgumentError(`of ${values.join(", ")}, with commas`);
  };

/** As API servers have it. */
const SHORTEST_PERIOD_SECONDS = 10;

const period: Parse = (text) => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= SHORTEST_PERIOD_SECONDS) return value;
  throw new InvalidArgumentError(`a whole number of seconds, from ${SHORTEST_PERIOD_SECONDS}`);
};

/** Audiences may contain every character that a list could be divided by: so it is JSON. */
const tokenRequests: Parse = (text) => {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.every(isTokenRequest)) return value;
  } catch {
    // What to write is the same.
  }
  throw new InvalidArgumentError(`JSON like [{"audience":"vault","expirationSeconds":3600}]`);
};

function isTokenRequest(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { audience, expirationSeconds, ...others } = value as Record<string, unknown>;
  const lives = expirationSeconds === undefined || Number.isInteger(expirationSeconds);
  return typeof audience === "string" && lives && Object.keys(others).length === 0;
}

const FIELDS: Readonly<Record<keyof DeclaredCsiDriver, Parse>> = {
  attachRequired: yesOrNo,
  fsGroupPolicy: oneOf("ReadWriteOnceWithFSType", "File", "None"),
  nodeAllocatableUpdatePeriodSeconds: period,
  podInfoOnMount: yesOrNo,
  requiresRepublish: yesOrNo,
  seLinuxMount: yesOrNo,
  serviceAccountTokenInSecrets: yesOrNo,
  storageCapacity: yesOrNo,
  tokenRequests,
  volumeLifecycleModes: some("Persistent", "Ephemeral"),
};

/** Fields by the name of their driver, or {@link ANY_DRIVER}. */
export type DeclaredCsiDrivers = Readonly<Record<string, DeclaredCsiDriver>>;

/** Whatever the driver is called: for the only one. */
export const ANY_DRIVER = "";

/** What a driver's object has to have; undefined: nothing. */
export function declaredFor(declared: DeclaredCsiDrivers): (driver: string) => DeclaredCsiDriver | undefined {
  return (driver) => {
    const [any, own] = [declared[ANY_DRIVER], declared[driver]];
    return any === undefined && own === undefined ? undefined : { ...any, ...own };
  };
}

function declaredFields(text: string, before: DeclaredCsiDrivers = {}): DeclaredCsiDrivers {
  const [, driver = ANY_DRIVER, field = "", value = ""] = /^(?:([^=/]+)\/)?([^=/]*)=(.*)$/s.exec(text) ?? [];
  if (!Object.hasOwn(FIELDS, field))
    throw new InvalidArgumentError(`FIELD=VALUE, FIELD one of ${Object.keys(FIELDS).join(", ")}`);
  return {
    ...before,
    [driver]: { ...before[driver], [field]: FIELDS[field as keyof DeclaredCsiDriver](value) },
  };
}

/** `--csi-driver FIELD=VALUE`, once for each field that the CSIDriver object has to have; with several drivers `DRIVER/FIELD=VALUE`. */
export function csiDriverOption(): Option {
  return new Option(
    "--csi-driver <field=value>",
    "keep this field of the CSIDriver object as it is here; once for each field, with several drivers as DRIVER/FIELD=VALUE",
  ).argParser(declaredFields);
}
