import { mkdtemp, rm } from "node:fs/promises";
import { Events, type KubeObject, type ObjectStore, silentLogger } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { startApiServer } from "../../apiserver/start.ts";
import { mustRun, programs, type Run, runner } from "../../apiserver/testing/kubectl.ts";
import { startTestCluster, type TestCluster } from "../../kubelet/testing/test-cluster.ts";
import { startCronJobController } from "../cron-job/index.ts";
import { startGarbageCollector } from "../garbage-collector/index.ts";
import { startJobController } from "../job/index.ts";
import { openWorkloadsView } from "../workloads/view.ts";

/** A control plane with its API server and kubelet, the controllers of Jobs and CronJobs, and the real kubectl. */
export interface BatchCluster extends TestCluster {
  run: Run;
  /** Throws when it ends with an error; resolves with what it prints. */
  kubectl: ReturnType<typeof mustRun>;
}

/** In a new folder, which `stop` removes. Failures are followed by the next pod at once. */
export async function startBatchCluster(): Promise<BatchCluster> {
  const folder = await mkdtemp("/tmp/mooring-batch-");
  const cluster = await startTestCluster(folder);
  const { store, kinds, view } = cluster;
  const stopping = new AbortController();
  const common = { store, kinds, logger: silentLogger, signal: stopping.signal };
  const workloads = await openWorkloadsView(store, common);
  const api = await startApiServer({ ...common, listen: "127.0.0.1:0", stateDir: folder });
  const parts = [
    api,
    await startGarbageCollector(common),
    workloads,
    startJobController({ ...common, view, workloads, backoff: { baseMs: 1, maxMs: 1 } }),
    await startCronJobController({ ...common, workloads }),
  ];
  const run = runner((await programs()).kubectl, { folder, kubeconfig: api.kubeconfig });
  const end = cluster.stop;
  // The cluster itself, as parts of it change when its kubelet is started again.
  return Object.assign(cluster, {
    run,
    kubectl: mustRun(run),
    // Asked while they run: what has stopped has nothing to do any more.
    stop: () =>
      endAtRest(async () => {
        stopping.abort();
        await Promise.all(parts.map(({ done }) => done));
        await end();
        await rm(folder, { recursive: true });
      }),
  });
}

/** Reasons of the events about an object, each once. */
export async function reasonsOf(store: ObjectStore, { kind, metadata }: KubeObject): Promise<string[]> {
  const { items } = await store.list(Events, { namespace: metadata.namespace ?? "default" });
  const about = items.filter(
    ({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === metadata.name,
  );
  return [...new Set(about.map(({ reason }) => reason ?? ""))].sort();
}
