import { type ObjectStore, type ResourceQuota, ResourceQuotas, type WrittenCache } from "@mooring/store";
import type { QuotaStep } from "./decide.ts";

/** Writes the status. */
export async function apply(
  { status }: QuotaStep,
  quota: ResourceQuota,
  { store, quotas }: { store: ObjectStore; quotas: WrittenCache<ResourceQuota> },
): Promise<void> {
  quotas.wrote(await store.updateStatus(ResourceQuotas, { ...quota, status }));
}
