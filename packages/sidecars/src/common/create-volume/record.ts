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

/**
 * An intent as it is stored. The version before this one knows the accessibility requirements as `topology` only, and would ask
 * for a volume anywhere after a roll-back: they have that name until no version that may be gone back to needs it (decision 125).
 */
type StoredIntent = Omit<Intent, "arguments"> & {
  arguments: CreateVolumeArguments & { topology?: CreateVolumeArguments["accessibilityRequirements"] };
};

function toStored(intent: Intent): StoredIntent {
  const { accessibilityRequirements: topology, ...rest } = intent.arguments;
  return { ...intent, arguments: { ...rest, ...defined({ topology }) } };
}

/** Reads what the next version writes as well, for a roll-back to this one. */
function fromStored(stored: StoredIntent): Intent {
  const { topology: accessibilityRequirements, ...rest } = stored.arguments;
  return { ...stored, arguments: { ...rest, ...defined({ accessibilityRequirements }) } };
}

const parsed = new WeakMap<ConfigMap, ReadonlyMap<string, Intent>>();

/** The intents in a record, by the UID of their claims. */
export function intentsOf(record: ConfigMap): ReadonlyMap<string, Intent> {
  let intents = parsed.get(record);
  if (intents === undefined) {
    // Records of earlier versions have one intent, under a key that is no UID.
    const all = Object.values(record.data ?? {}).map((text) => fromStored(JSON.parse(text) as StoredIntent));
    intents = new Map(all.map((intent) => [intent.claim.uid, intent]));
    parsed.set(record, intents);
  }
  return intents;
}

/** Driver names have at most 63 characters of `[a-zA-Z0-9.-]` and end in one of the first two kinds. */
const labelValue = (driver: string): string => driver.slice(0, 63);
