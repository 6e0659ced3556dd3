import { createHost, DRIVER_NAME } from "@mooring/engine";
import { managedBy, type ObjectStore, startEventExpiry } from "@mooring/store";
import { admittingPods } from "../apiserver/admission/made-pods.ts";
import { startAttachDetach } from "../controllers/attach-detach/index.ts";
import { startBinder } from "../controllers/binder/index.ts";
import { type ClusterView, openClusterView } from "../controllers/cluster-view.ts";
import { CONTROLLER_MANAGER } from "../controllers/controller-manager.ts";
import { startCronJobController } from "../controllers/cron-job/index.ts";
import { startDeployments } from "../controllers/deployment/index.ts";
import { startGarbageCollector } from "../controllers/garbage-collector/index.ts";
import { startJobController } from "../controllers/job/index.ts";
import { startNamespaceController } from "../controllers/namespace/index.ts";
import { startNodeLifecycle } from "../controllers/node-lifecycle/index.ts";
import { startProtection } from "../controllers/protection/index.ts";
import { startReplicaSets } from "../controllers/replica-set/index.ts";
import { startResourceQuotaController } from "../controllers/resource-quota/index.ts";
import { startRoleAggregation } from "../controllers/role-aggregation/index.ts";
import { startScheduler } from "../controllers/scheduler/index.ts";
import { startStatefulSets } from "../controllers/stateful-set/index.ts";
import { openWorkloadsView } from "../controllers/workloads/view.ts";
import type { Starting } from "./starting.ts";

/** What a cluster's controller manager and scheduler do. */
export async function startControllers(
  { store, kinds, parts, logger }: Starting,
  caPem: string,
): Promise<ClusterView> {
  const view = await parts.start("cluster view", (signal) => openClusterView(store, { logger, signal }));
  const manager = { store: managedBy(store, CONTROLLER_MANAGER), view, logger };
  await parts.start("binder", (signal) => startBinder({ ...manager, signal }));
  await parts.start("scheduler", (signal) =>
    startScheduler({ ...manager, store: managedBy(store, "kube-scheduler"), signal }),
  );
  await parts.start("attach/detach", (signal) =>
    startAttachDetach({ ...manager, hasAttacher: (driver) => driver === DRIVER_NAME, signal }),
  );
  await parts.start("protection", (signal) => startProtection({ ...manager, signal }));
  await startWorkloads({ ...manager, store: admittingPods(manager.store), parts });
  await parts.start("quotas", (signal) => startResourceQuotaController({ ...manager, signal }));
  await parts.start("garbage collector", (signal) => startGarbageCollector({ store, kinds, logger, signal }));
  await parts.start("namespaces", (signal) =>
    startNamespaceController({ store, kinds, caPem, logger, signal }),
  );
  await parts.start("role aggregation", (signal) => startRoleAggregation({ store, logger, signal }));
  await parts.start("event expiry", async (signal) => startEventExpiry({ store, signal }));
  return view;
}

interface WorkloadsOptions extends Pick<Starting, "logger" | "parts"> {
  store: ObjectStore;
  view: ClusterView;
}

/** The controllers that make pods for other objects. */
async function startWorkloads({ parts, ...manager }: WorkloadsOptions): Promise<void> {
  const workloads = await parts.start("workloads view", (signal) =>
    openWorkloadsView(manager.store, { logger: manager.logger, signal }),
  );
  const common = { ...manager, workloads };
  await parts.start("jobs", async (signal) => startJobController({ ...common, signal }));
  await parts.start("cron jobs", (signal) => startCronJobController({ ...common, signal }));
  await parts.start("replica sets", async (signal) => startReplicaSets({ ...common, signal }));
  await parts.start("deployments", async (signal) => startDeployments({ ...common, signal }));
  await parts.start("stateful sets", async (signal) => startStatefulSets({ ...common, signal }));
}

/**
 * The part of the controller manager that reports silent nodes; it starts after the parts that report which node is fenced, and after
 * the kubelet of this machine, which may take longer to begin than a node may be silent.
 */
export async function watchNodes(
  { options, store, parts, logger }: Starting,
  view: ClusterView,
): Promise<void> {
  const { sinceBoot } = createHost().clock;
  const lifecycle = { store: managedBy(store, CONTROLLER_MANAGER), view, logger, sinceBoot };
  await parts.start("node lifecycle", (signal) =>
    startNodeLifecycle({ ...lifecycle, graceMs: options.nodeGraceMs, signal }),
  );
}
