import {
  createInformer,
  keyOf,
  type Logger,
  type ObjectStore,
  Reconciler,
  ResourceQuotas,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { apply } from "./apply.ts";
import { decide, type QuotaStep, type QuotaView } from "./decide.ts";
import { readQuota } from "./read.ts";

const failpoints = stepFailpoints<QuotaStep>("standalone/resource-quota", { "write-status": true });

interface ResourceQuotaOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "claims" | "classes">;
  logger: Logger;
  signal: AbortSignal;
}

/** Shows how much of each quota is used; the API server enforces quotas with every write of a claim. */
export async function startResourceQuotaController(
  options: ResourceQuotaOptions,
): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const informer = createInformer(store, ResourceQuotas, { logger });
  const running = informer.run(signal);
  const quotas = new WrittenCache(store, informer);
  const controller = new Reconciler<QuotaView, QuotaStep>({
    ...{ name: "resource-quota", store, logger, failpoints },
    sources: [source(informer, (quota) => [keyOf(quota)])],
    watched: [view.claims, view.classes],
    read: (key, context) => readQuota(key, quotas, view, context),
    decide,
    apply: (step, { quota }) => apply(step, quota, { store, quotas }),
  }).run(signal);
  await informer.synced(signal);
  return { done: Promise.all([controller, running]).then(() => {}) };
}
