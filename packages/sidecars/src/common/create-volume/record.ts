import { type ConfigMap, defined } from "@mooring/store";
import { RECORD_DRIVER, RECORD_KIND, sanitizeDriverName } from "../names.ts";
import type { CreateVolumeArguments, Intent } from "./intent.ts";

const KIND = "create-volume";

/** Selects the records of one driver. */
export function recordSelector(driver: string): string {
  return `${RECORD_KIND}=${KIND},${RECORD_DRIVER}=${labelValue(driver)}`;
}

/** Where a record is, and whose. */
export interface RecordPlace {
  driver: string;
  /** Distinguishes it from other records of the driver. */
  suffix: string;
  namespace: string;
}

/**
 * The record of CreateVolume calls whose outcome is not settled, by the UID of their claims. It is in the control plane's
 * namespace and not on the claims: users may write those, and this record chooses secrets and mount options.
 */
export function recordFor(intents: readonly Intent[], { driver, suffix, namespace }: RecordPlace): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: `create-volume-${sanitizeDriverName(driver).toLowerCase()}-${suffix}`,
      namespace,
      labels: { [RECORD_KIND]: KIND, [RECORD_DRIVER]: labelValue(driver) },
    },
    data: Object.fromEntries(intents.map((intent) => [intent.claim.uid, JSON.stringify(toStored(intent))])),
  };
}

/** The arguments by the names that the version before this one knows. */
interface EarlierArguments extends Pick<CreateVolumeArguments, "name" | "parameters" | "mutableParameters"> {
  requiredBytes: string;
  capabilities: CreateVolumeArguments["volumeCapabilities"];
  source?: CreateVolumeArguments["volumeContentSource"];
  topology?: CreateVolumeArguments["accessibilityRequirements"];
}

type Stored<Arguments> = Omit<Intent, "arguments"> & { arguments: Arguments };
type EitherStored = Stored<EarlierArguments | CreateVolumeArguments>;

/**
 * An intent as it is stored. By CSI's names the version before this one would ask for something else after a roll-back: they are the
 * earlier ones until no version that may be gone back to needs them (decision 125).
 */
function toStored(intent: Intent): Stored<EarlierArguments> {
  const { name, capacityRange, volumeCapabilities: capabilities, parameters, ...rest } = intent.arguments;
  const { mutableParameters, volumeContentSource: source, accessibilityRequirements: topology } = rest;
  return {
    ...intent,
    arguments: {
      ...{ name, requiredBytes: capacityRange.requiredBytes, capabilities, parameters },
      ...defined({ mutableParameters, source, topology }),
    },
  };
}

/**
 * Reads what the next version writes as well, for a roll-back to this one. The order is that of a plan: equal requests are equal as
 * JSON, whoever has recorded them.
 */
function fromStored(stored: EitherStored): Intent {
  const { name, parameters, mutableParameters, ...named } = stored.arguments;
  const { capacityRange, volumeCapabilities, volumeContentSource, accessibilityRequirements } =
    "capacityRange" in named ? named : fromEarlier(named);
  return {
    ...stored,
    arguments: {
      ...{ name, capacityRange, volumeCapabilities, parameters },
      ...defined({ mutableParameters, volumeContentSource, accessibilityRequirements }),
    },
  };
}

function fromEarlier({
  requiredBytes,
  capabilities: volumeCapabilities,
  source: volumeContentSource,
  topology: accessibilityRequirements,
}: Omit<EarlierArguments, "name" | "parameters" | "mutableParameters">) {
  return {
    ...{ capacityRange: { requiredBytes }, volumeCapabilities },
    ...defined({ volumeContentSource, accessibilityRequirements }),
  };
}

const parsed = new WeakMap<ConfigMap, ReadonlyMap<string, Intent>>();

/** The intents in a record, by the UID of their claims. */
export function intentsOf(record: ConfigMap): ReadonlyMap<string, Intent> {
  let intents = parsed.get(record);
  if (intents === undefined) {
    // Records of earlier versions have one intent, under a key that is no UID.
    const all = Object.values(record.data ?? {}).map((text) => fromStored(JSON.parse(text) as EitherStored));
    intents = new Map(all.map((intent) => [intent.claim.uid, intent]));
    parsed.set(record, intents);
  }
  return intents;
}

/** Driver names have at most 63 characters of `[a-zA-Z0-9.-]` and end in one of the first two kinds. */
const labelValue = (driver: string): string => driver.slice(0, 63);
