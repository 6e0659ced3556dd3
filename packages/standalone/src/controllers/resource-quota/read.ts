import {
  keyOf,
  type PersistentVolumeClaim,
  parseKey,
  type ReadContext,
  type ResourceQuota,
  type StorageClass,
  type UnstructuredObject,
  type WrittenCache,
} from "@mooring/store";
import { defaultClassOf } from "../../builtin/default-class.ts";
import { type ClaimUsage, claimUsage } from "../../builtin/quota-usage.ts";
import type { ClusterView } from "../cluster-view.ts";
import type { QuotaView } from "./decide.ts";

/** A projection: the rest of a claim changes without the quota. */
function usageOf(claim: PersistentVolumeClaim): ClaimUsage {
  return claimUsage(claim as unknown as UnstructuredObject);
}

function metadataOf({ metadata }: StorageClass): Pick<StorageClass, "metadata"> {
  return { metadata };
}

/** A quota and the claims of its namespace. */
export async function readQuota(
  key: string,
  quotas: WrittenCache<ResourceQuota>,
  { claims, classes }: Pick<ClusterView, "claims" | "classes">,
  { reader, fresh, signal }: ReadContext,
): Promise<QuotaView | undefined> {
  if (fresh) await quotas.refresh(key, signal);
  const quota = reader.over(quotas).get(key);
  if (quota === undefined) return undefined;
  const { namespace = "" } = parseKey(keyOf(quota));
  const usages = reader.over(claims, usageOf).byIndex("namespace", namespace);
  const defaultClass = defaultClassOf(reader.over(classes, metadataOf).list())?.metadata.name;
  return { quota, usages, defaultClass };
}
