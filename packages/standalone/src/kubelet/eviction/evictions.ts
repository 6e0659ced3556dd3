import { EventEmitter } from "node:events";
import type { Exec } from "@mooring/engine";
import { delay, type EventRecorder, type Logger, type Pod } from "@mooring/store";
import type { Runtime } from "../../runtime/index.ts";
import type { KubeletPaths } from "../paths.ts";
import { emptyDirsOnDisk, exceededLimit, isBounded } from "./limits.ts";
import { diskUse } from "./measure.ts";

/** As often as the kubelet measures. */
export const MEASURE_MS = 10_000;

interface EvictionOptions {
  /** Pods of this node. */
  pods(): readonly Pod[];
  runtime: Pick<Runtime, "list" | "storageOf">;
  paths: Pick<KubeletPaths, "localVolume">;
  exec: Exec;
  events: EventRecorder;
  logger: Logger;
  /** The pod is to go. */
  changed(podUID: string): void;
  /** Default {@link MEASURE_MS}. */
  everyMs?: number;
}

/**
 * Pods that have to leave because they use more of the machine's disk than their limits allow. It is a measurement, no
 * quota: a pod may take more until it is noticed. This process keeps them in memory only, which is safe: the next one
 * measures pods that still run again, and those that were ended are Failed by then.
 */
export class Evictions {
  readonly #options: EvictionOptions;
  readonly #why = new Map<string, string>();
  /** Emits the uid of a pod that has to leave. */
  readonly #evicted = new EventEmitter().setMaxListeners(0);

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  /** Why the pod was evicted; undefined when it was not. */
  why(podUID: string): string | undefined {
    return this.#why.get(podUID);
  }

  /** Calls back once the pod has to leave; returns what ends that. */
  onEvicted(podUID: string, listener: () => void): () => void {
    this.#evicted.once(podUID, listener);
    return () => void this.#evicted.off(podUID, listener);
  }

  forget(podUID: string): void {
    this.#why.delete(podUID);
  }

  /** Measures until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { everyMs = MEASURE_MS, logger } = this.#options;
    while (!signal.aborted) {
      for (const pod of this.#bounded()) {
        try {
          await this.#check(pod, signal);
        } catch (error) {
          if (signal.aborted) return;
          logger.warn({ pod: pod.metadata.name, err: error }, "cannot measure what a pod has on disk");
        }
      }
      await delay(everyMs, signal).catch(() => {});
    }
  }

  #bounded(): Pod[] {
    const { pods, runtime } = this.#options;
    const running = new Set(
      runtime.list().flatMap(({ state, pod }) => (state === "running" ? [pod.uid] : [])),
    );
    return pods().filter((pod) => {
      const uid = pod.metadata.uid ?? "";
      return running.has(uid) && !this.#why.has(uid) && isBounded(pod);
    });
  }

  async #check(pod: Pod, signal: AbortSignal): Promise<void> {
    const { runtime, paths, exec, events, changed } = this.#options;
    const { uid = "" } = pod.metadata;
    const containers = runtime.storageOf(uid);
    const volumes = emptyDirsOnDisk(pod).map(({ name }) => {
      return { name, paths: [paths.localVolume(uid, "kubernetes.io~empty-dir", name)] };
    });
    const use = await diskUse(
      exec,
      [...containers, ...volumes].flatMap((each) => each.paths),
      signal,
    );
    const sums = (owners: readonly { name: string; paths: readonly string[] }[]) =>
      new Map(
        owners.map((each) => [each.name, each.paths.reduce((sum, path) => sum + (use.get(path) ?? 0n), 0n)]),
      );
    const why = exceededLimit(pod, { containers: sums(containers), emptyDirs: sums(volumes) });
    if (why === undefined) return;
    this.#why.set(uid, why);
    events.event(pod, "Warning", "Evicted", why);
    this.#evicted.emit(uid);
    changed(uid);
  }
}
