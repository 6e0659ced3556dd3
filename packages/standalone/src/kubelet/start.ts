import { mkdir, readdir } from "node:fs/promises";
import { createHost, type Host } from "@mooring/engine";
import {
  EventRecorder,
  KubeVolumeAttachments,
  type Logger,
  type ObjectStore,
  WorkQueue,
} from "@mooring/store";
import { type ClusterView, openClusterView } from "../controllers/cluster-view.ts";
import type { Runtime } from "../runtime/index.ts";
import { openDrivers } from "./csi/drivers.ts";
import { type LogRequest, readPodLog } from "./logs.ts";
import { machineFacts } from "./node/machine.ts";
import { nodeStatus } from "./node/node-object.ts";
import { registerNode } from "./node/registration.ts";
import { kubeletPaths } from "./paths.ts";
import { runPods } from "./pods/pod-controller.ts";
import { createPodVolumes } from "./pods/pod-volumes.ts";
import { stopPods } from "./stop.ts";
import { traceClaim } from "./volumes/csi-volume.ts";
import { startVolumeManager } from "./volumes/manager.ts";

export interface KubeletOptions {
  store: ObjectStore;
  /** Shared with the controllers; opened when absent. */
  view?: ClusterView;
  nodeName: string;
  /** Root of everything that the kubelet keeps: `pods/`, `plugins/`. */
  stateDir: string;
  /** Socket of each CSI driver, by driver name: `unix:///path`. */
  csiEndpoints: Readonly<Record<string, string>>;
  runtime: Runtime;
  logger: Logger;
  host?: Host;
  /** Ends everything cleanly: see {@link startKubelet}. */
  signal: AbortSignal;
}

export interface Kubelet {
  logs(request: LogRequest): AsyncIterable<Uint8Array>;
  /** Settles when no process, mount or attachment of a pod is left on the machine. */
  readonly done: Promise<void>;
}

/** How long detaching may take when the kubelet is stopped, before it is left to the next start. */
const DETACH_MS = 20_000;

/**
 * Runs the pods of one node. When the signal aborts, the pods' processes are ended as for a deletion, their volumes
 * are unpublished, unstaged and detached, and their objects stay: the next start runs them again as restartPolicy
 * says. When this process is killed instead, everything keeps running and the next start takes it over.
 */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { store, nodeName, stateDir, runtime, logger, signal, host = createHost() } = options;
  const paths = kubeletPaths(stateDir);
  await mkdir(paths.pods, { recursive: true, mode: 0o750 });
  // Works on after the signal, until the pods have gone.
  const working = new AbortController();
  const view = options.view ?? (await openClusterView(store, { logger, signal: working.signal }));
  const events = new EventRecorder(store, { component: "kubelet", host: nodeName, logger });
  const drivers = openDrivers(options.csiEndpoints, logger);
  const facts = await machineFacts(nodeName, stateDir);
  const registration = await registerNode(store, facts, { logger, signal });
  const queue = new WorkQueue({ baseMs: 500, maxMs: 60_000 });
  const manager = await startVolumeManager({
    ...{ store, view, host, drivers, paths, nodeName, events, logger },
    changed: (uid) => queue.add(uid),
    signal: working.signal,
  });
  const ready = { status: "True", reason: "", message: "" };
  const allocatable = nodeStatus({}, facts, ready, "").allocatable ?? {};
  const node = { nodeName, address: facts.address, allocatable };
  const volumes = createPodVolumes({ store, view, host, paths, node, manager, events });
  wantRunning();
  for (const uid of await podsOnDisk()) queue.add(uid);
  const pods = runPods({ store, view, runtime, volumes, node, events, logger, queue, signal });

  /** Before anything is let go: what runs keeps its volumes. */
  function wantRunning(): void {
    for (const pod of view.pods.byIndex("node", nodeName)) {
      const running = runtime
        .list()
        .some((each) => each.pod.uid === pod.metadata.uid && each.state !== "exited");
      if (!running) continue;
      const traced = (pod.spec?.volumes ?? []).map((volume) => traceClaim(view, pod, volume));
      manager.want(
        pod,
        traced.filter((each) => each !== undefined && "key" in each),
      );
    }
  }

  async function podsOnDisk(): Promise<Set<string>> {
    const logged = (await runtime.podsOnDisk()).map(({ uid }) => uid);
    const running = runtime.list().map(({ pod }) => pod.uid);
    return new Set([...logged, ...running, ...(await readdir(paths.pods)), ...manager.podsOnDisk()]);
  }

  async function run(): Promise<void> {
    try {
      await pods;
      await stopPods({ view, runtime, volumes, manager, nodeName, logger });
      await registration.done;
      await registration.markStopped();
      await detached();
    } catch (error) {
      logger.error({ err: error }, "the kubelet could not stop cleanly; the next start goes on with it");
    } finally {
      working.abort();
      await manager.done;
      await events.flush();
      drivers.close();
      await runtime.close();
    }
  }

  async function detached(): Promise<void> {
    const deadline = Date.now() + DETACH_MS;
    const left = async () =>
      (await store.list(KubeVolumeAttachments)).items.filter(({ spec }) => spec?.nodeName === nodeName);
    while ((await left()).length > 0 && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 50));
  }

  return { logs: (request) => readPodLog(store, runtime, request), done: run() };
}
