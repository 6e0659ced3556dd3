import type { ConfigMap } from "@mooring/store";
import { RECORD_DRIVER, RECORD_KIND, sanitizeDriverName } from "../names.ts";
import type { Intent } from "./intent.ts";

const KIND = "create-volume";

/** Selects the records of one driver. */
export function recordSelector(driver: string): string {
  return `${RECORD_KIND}=${KIND},${RECORD_DRIVER}=${labelValue(driver)}`;
}

/**
 * The record of a CreateVolume call whose outcome is not settled. It is in the control plane's namespace and not on
 * the claim: users may write their claims, and this record chooses secrets and mount options.
 */
export function recordFor(intent: Intent, namespace: string): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      ...recordKey(intent.driver, intent.claim.uid, namespace),
      labels: { [RECORD_KIND]: KIND, [RECORD_DRIVER]: labelValue(intent.driver) },
    },
    immutable: true,
    data: { intent: JSON.stringify(intent) },
  };
}

/** Where the record of a claim's UID is. */
export function recordKey(driver: string, uid: string, namespace: string) {
  return { name: `create-volume-${sanitizeDriverName(driver).toLowerCase()}-${uid}`, namespace };
}

/** The intent in a record; undefined when it is not one of ours. */
export function intentOf(record: ConfigMap): Intent | undefined {
  const text = record.data?.intent;
  return text === undefined ? undefined : (JSON.parse(text) as Intent);
}

/** Driver names have at most 63 characters of `[a-zA-Z0-9.-]` and end in one of the first two kinds. */
const labelValue = (driver: string): string => driver.slice(0, 63);
