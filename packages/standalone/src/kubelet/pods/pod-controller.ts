import { isDeepStrictEqual } from "node:util";
import {
  type EventRecorder,
  failpoint,
  isNotFound,
  type Logger,
  mutate,
  type ObjectStore,
  type Pod,
  Pods,
  runController,
  source,
  type WorkQueue,
} from "@mooring/store";
import type { ClusterView } from "../../controllers/cluster-view.ts";
import type { Runtime } from "../../runtime/index.ts";
import { containerConfig, containerID } from "./container-config.ts";
import { decidePod, type PodStep } from "./decide.ts";
import { ContainerConfigError } from "./environment.ts";
import type { NodeFacts } from "./field-ref.ts";
import { ghostPod } from "./ghost.ts";
import { runPostStart, runPreStop } from "./hooks.ts";
import { type ContainerView, outcomeOf, type PodView, rolesOf, unsupportedImages } from "./pod-view.ts";
import type { PodVolumes } from "./pod-volumes.ts";
import { createProber } from "./prober.ts";
import { podStatus } from "./status.ts";

const passed = {
  started: failpoint("standalone/kubelet/container-started"),
  stopped: failpoint("standalone/kubelet/containers-stopped"),
  released: failpoint("standalone/kubelet/volumes-released"),
  folderRemoved: failpoint("standalone/kubelet/folder-removed"),
  containersRemoved: failpoint("standalone/kubelet/containers-removed"),
  statusWritten: failpoint("standalone/kubelet/status-written"),
};

export interface PodControllerOptions {
  store: ObjectStore;
  view: ClusterView;
  runtime: Runtime;
  volumes: PodVolumes;
  node: NodeFacts;
  events: EventRecorder;
  logger: Logger;
  queue: WorkQueue;
  signal: AbortSignal;
}

/** Brings each pod of this node, by uid, to what its object says; also those that have no object any more. */
export async function runPods(options: PodControllerOptions): Promise<void> {
  const { view, runtime, node, queue, signal, logger, events } = options;
  const startErrors = new Map<string, { reason: string; message: string }>();
  const wake = (id: string) => queue.add(id.slice(0, id.indexOf("_")));
  const prober = createProber(wake, (id, kind, message) => {
    const pod = view.pods.byIndex("uid", id.slice(0, id.indexOf("_")))[0];
    const title = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    if (pod !== undefined) events.event(pod, "Warning", "Unhealthy", `${title} probe failed: ${message}`);
  });
  const unfollow = runtime.onChange((podUID) => queue.add(podUID));
  const here = (pods: readonly Pod[]) =>
    pods.filter((pod) => pod.spec?.nodeName === node.nodeName).map((pod) => pod.metadata.uid ?? "");
  const pods = createPodSync(options, prober, startErrors);
  try {
    await runController(
      {
        name: "kubelet",
        logger,
        queue,
        // Stopping waits out grace periods; that must not hold up other pods.
        concurrency: 64,
        sources: [
          source(view.pods, (pod) => here([pod])),
          source(view.claims, ({ metadata }) =>
            here(view.pods.byIndex("claim", `${metadata.namespace}/${metadata.name}`)),
          ),
          source(view.volumes, ({ spec }) =>
            here(view.pods.byIndex("claim", `${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`)),
          ),
        ],
        reconcile: (uid) => pods(uid),
      },
      signal,
    );
  } finally {
    unfollow();
    prober.close();
  }
}

type Prober = ReturnType<typeof createProber>;

function createPodSync(
  options: PodControllerOptions,
  prober: Prober,
  startErrors: Map<string, { reason: string; message: string }>,
) {
  const { store, view, runtime, volumes, node, events, signal } = options;

  async function look(uid: string): Promise<{ podView: PodView; ghost: boolean } | undefined> {
    const attempts = runtime.list().filter((each) => each.pod.uid === uid);
    const found = view.pods.byIndex("uid", uid)[0];
    const mine = found?.spec?.nodeName === node.nodeName ? found : undefined;
    const onDisk = await volumes.hasFolder(uid);
    const pod = mine ?? (await ghostPod(runtime, uid, attempts, onDisk || volumes.holds(uid)));
    if (pod === undefined) return undefined;
    const ghost = mine === undefined;
    const containers = rolesOf(pod).map(({ spec, role }): ContainerView => {
      const own = attempts.filter(({ name }) => name === spec.name).sort((a, b) => b.attempt - a.attempt);
      const [latest, previous] = own;
      const startError = startErrors.get(`${uid}/${spec.name}`);
      const probes = prober.results(latest?.id ?? "", spec);
      return { spec, role, latest, previous, probes, ...(startError === undefined ? {} : { startError }) };
    });
    const base: PodView = {
      pod,
      containers,
      volumesReady: false,
      volumesHeld: volumes.holds(uid),
      onDisk,
      now: Date.now(),
    };
    if (ghost || outcomeOf(base) !== undefined || pod.metadata.deletionTimestamp !== undefined) {
      return { podView: base, ghost };
    }
    if (unsupportedImages(pod).length > 0) return { podView: base, ghost };
    const ready = await volumes.ensure(pod);
    // What runs has its volumes, also while they are looked at again after a restart of ours.
    const running = containers.some(({ latest }) => latest?.state === "running");
    return { podView: { ...base, volumesReady: ready || running }, ghost };
  }

  return async function sync(uid: string): Promise<{ requeueAfterMs: number } | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const seen = await look(uid);
      if (seen === undefined) return undefined;
      const { podView, ghost } = seen;
      keepProbing(podView);
      if (!ghost) await report(podView);
      const step = decidePod(podView);
      if (step.do === "wait")
        return step.milliseconds === undefined ? undefined : { requeueAfterMs: step.milliseconds + 10 };
      if (step.do === "mountVolumes") return undefined;
      await apply(podView, step, ghost);
      // The volume manager wakes us when the last of them is gone.
      if (step.do === "releaseVolumes" && volumes.holds(uid)) return undefined;
      if (step.do === "deleteObject") return undefined;
    }
  };

  function keepProbing({ containers, pod }: PodView): void {
    for (const { spec, latest, previous } of containers) {
      if (previous !== undefined) prober.end(previous.id);
      if (latest === undefined) continue;
      if (latest.state !== "running") prober.end(latest.id);
      else {
        prober.ensure(latest.id, spec, Date.parse(latest.startedAt ?? latest.createdAt), {
          host: node.address,
          ports: spec.ports ?? [],
          exec: (argv, timeoutMs) =>
            runtime.exec(containerID(pod, spec.name, latest.attempt), argv, { timeoutMs, signal }),
        });
      }
    }
  }

  async function report(podView: PodView): Promise<void> {
    const { pod } = podView;
    if (isDeepStrictEqual(podStatus(podView, node.address), pod.status)) return;
    try {
      await mutate(
        store,
        Pods,
        { namespace: pod.metadata.namespace ?? "", name: pod.metadata.name },
        (current) => {
          if (current.metadata.uid !== pod.metadata.uid) return current;
          const status = podStatus(
            { ...podView, pod: { ...podView.pod, status: current.status ?? {} } },
            node.address,
          );
          return { ...current, status };
        },
        { subresource: "status" },
      );
      passed.statusWritten();
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function apply(podView: PodView, step: PodStep, ghost: boolean): Promise<void> {
    const { pod, containers } = podView;
    const { uid = "", namespace = "", name } = pod.metadata;
    switch (step.do) {
      case "start":
        return start(podView, step.container, step.attempt);
      case "stop": {
        const targets = containers.filter(({ spec }) => step.containers.includes(spec.name));
        const hurry = hurried(uid, step.graceSeconds);
        await Promise.all(targets.map((each) => stop(pod, each, step, hurry.signal, ghost)));
        hurry.end();
        passed.stopped();
        return;
      }
      case "releaseVolumes":
        await volumes.release(uid);
        passed.released();
        return;
      case "removeFolder":
        await volumes.removeFolder(uid);
        passed.folderRemoved();
        return;
      case "removeContainers":
        for (const { id } of runtime.list().filter((each) => each.pod.uid === uid)) await runtime.remove(id);
        for (const { spec } of containers) startErrors.delete(`${uid}/${spec.name}`);
        await runtime.removePod({ uid, namespace, name });
        passed.containersRemoved();
        return;
      case "deleteObject":
        await runtime.removePod({ uid, namespace, name });
        if (!ghost) await deleteObject(pod);
        return;
      case "mountVolumes":
      case "wait":
        return;
    }
  }

  async function start({ pod }: PodView, container: string, attempt: number): Promise<void> {
    const key = `${pod.metadata.uid}/${container}`;
    const spec = rolesOf(pod).find((each) => each.spec.name === container)?.spec;
    if (spec === undefined) return;
    try {
      const sources = {
        store,
        node,
        volumes: volumes.sources(pod),
        subPath: (...place: [string, number, string, string]) => volumes.subPath(pod, ...place),
      };
      const config = await containerConfig(sources, pod, spec, attempt);
      if (attempt > 1) await runtime.remove(containerID(pod, container, attempt - 2));
      await runtime.start(config);
      passed.started();
      startErrors.delete(key);
      events.event(pod, "Normal", "Started", `Started container ${container}`);
      await runPostStart(runtime, spec, config.id);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const reason =
        error instanceof ContainerConfigError ? "CreateContainerConfigError" : "RunContainerError";
      startErrors.set(key, { reason, message });
      events.event(pod, "Warning", "Failed", `Error: ${message}`);
      const seen = await look(pod.metadata.uid ?? "");
      if (seen !== undefined && !seen.ghost) await report(seen.podView);
      throw error;
    }
  }

  async function stop(
    pod: Pod,
    { spec, latest }: ContainerView,
    step: Extract<PodStep, { do: "stop" }>,
    hurry: AbortSignal,
    ghost: boolean,
  ): Promise<void> {
    if (latest === undefined) return;
    prober.end(latest.id);
    if (!ghost) events.event(pod, "Normal", "Killing", `Stopping container ${spec.name}`);
    const until = Date.now() + step.graceSeconds * 1000;
    await runPreStop(runtime, spec, latest.id, step.graceSeconds * 1000, hurry);
    await runtime.stop(latest.id, { graceMs: Math.max(0, until - Date.now()), signal: hurry });
  }

  /** Aborts when somebody has lost patience: deleted the pod again with a shorter grace period, or for good. */
  function hurried(uid: string, graceSeconds: number): { signal: AbortSignal; end: () => void } {
    const hurry = new AbortController();
    const end = view.pods.onChange((old, current) => {
      if ((current ?? old)?.metadata.uid !== uid) return;
      const shorter = (current?.metadata.deletionGracePeriodSeconds ?? graceSeconds) < graceSeconds;
      if (current === undefined || shorter) hurry.abort();
    });
    return { signal: hurry.signal, end };
  }

  async function deleteObject(pod: Pod): Promise<void> {
    const { uid, namespace = "", name } = pod.metadata;
    try {
      await store.delete(
        Pods,
        { namespace, name },
        { gracePeriodSeconds: 0, ...(uid === undefined ? {} : { preconditions: { uid } }) },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
