import { isDeepStrictEqual } from "node:util";
import { DONE, isDeleting, type Outcome, type ResourceQuota } from "@mooring/store";
import { amountText, type ClaimUsage, sumOf } from "../../builtin/quota-usage.ts";

/** Everything that a quota's status depends on. */
export interface QuotaView {
  quota: ResourceQuota;
  /** What the claims of the namespace take. */
  usages: readonly ClaimUsage[];
  /** The class of claims that name none. */
  defaultClass: string | undefined;
}

/** Writes the status as it should be. */
export type QuotaStep = { do: "write-status"; status: NonNullable<ResourceQuota["status"]> };

/** The status repeats the limits and has what is used of each. */
export function decide({ quota, usages, defaultClass }: QuotaView): QuotaStep | Outcome {
  if (isDeleting(quota)) return DONE;
  const hard = quota.spec?.hard ?? {};
  const used = Object.fromEntries(
    Object.keys(hard).map((resource) => [
      resource,
      amountText(resource, sumOf(resource, usages, defaultClass)),
    ]),
  );
  const status = { hard, used };
  return isDeepStrictEqual(status, quota.status) ? DONE : { do: "write-status", status };
}
