import type { Host } from "@mooring/engine";
import { delay, type EventRecorder, type Logger, type Pod, parseKey } from "@mooring/store";
import type { ClaimCaches, CsiVolume } from "./csi-volume.ts";
import { traceVolume } from "./trace-volume.ts";

/** Nothing reports a mount that has gone: the list of all is read so often, and parsed when it has changed. */
const EVERY_MS = 5_000;

interface LostMountsOptions {
  /** Pods of this node. */
  pods(): readonly Pod[];
  view: ClaimCaches;
  host: Pick<Host, "mounts">;
  /** Where a volume is mounted for a pod; undefined while it is not published, or when its driver mounts nothing. */
  pathOf(podUID: string, volume: CsiVolume): string | undefined;
  events: EventRecorder;
  logger: Logger;
  /** What is known of the pod is another thing now. */
  changed(podUID: string): void;
  /** Default five seconds. */
  everyMs?: number;
}

/**
 * Volumes that are published for a pod and not mounted any more: somebody has unmounted them. Containers that run keep what they
 * have mounted; one that starts would find an empty folder on the machine's own disk, and write there.
 */
export class LostMounts {
  readonly #options: LostMountsOptions;
  readonly #lost = new Map<string, string>();

  constructor(options: LostMountsOptions) {
    this.#options = options;
  }

  /** What is not mounted any more of the pod's volumes, a clause for each; undefined: all are, as far as is known. */
  of(podUID: string): string | undefined {
    return this.#lost.get(podUID);
  }

  forget(podUID: string): void {
    this.#lost.delete(podUID);
  }

  /** Reads again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#update().catch((error: unknown) =>
        this.#options.logger.warn({ err: error }, "cannot read what is mounted"),
      );
      await delay(this.#options.everyMs ?? EVERY_MS, signal).catch(() => {});
    }
  }

  /** The same, read now. */
  async read(pods: readonly Pod[]): Promise<(string | undefined)[]> {
    // Published before the mounts are read and after: what comes or goes meanwhile is not lost.
    const before = pods.map((pod) => this.#published(pod));
    if (before.every((each) => each.length === 0)) return pods.map(() => undefined);
    const mounted = new Set((await this.#options.host.mounts.list()).map(({ target }) => target));
    return pods.map((pod, index) => {
      const still = new Set(this.#published(pod).map(({ path }) => path));
      const lost = before[index]?.filter(({ path }) => still.has(path) && !mounted.has(path)) ?? [];
      return lost.length === 0 ? undefined : lost.map(describe).join("; ");
    });
  }

  async #update(): Promise<void> {
    const { pods: all, changed, events } = this.#options;
    const pods = all();
    const found = await this.read(pods);
    pods.forEach((pod, index) => {
      const { uid = "" } = pod.metadata;
      const message = found[index];
      if (message === this.#lost.get(uid)) return;
      if (message === undefined) this.#lost.delete(uid);
      else {
        this.#lost.set(uid, message);
        events.event(pod, "Warning", "VolumeUnmounted", message);
      }
      changed(uid);
    });
  }

  /** File systems only: what a driver makes of a raw volume's target need not be a mount. */
  #published(pod: Pod): { volume: CsiVolume; path: string }[] {
    const { view, pathOf } = this.#options;
    return (pod.spec?.volumes ?? []).flatMap((podVolume) => {
      const volume = traceVolume(view, pod, podVolume);
      if (volume === undefined || "problem" in volume || volume.block) return [];
      const path = pathOf(pod.metadata.uid ?? "", volume);
      return path === undefined ? [] : [{ volume, path }];
    });
  }
}

function describe({ volume, path }: { volume: CsiVolume; path: string }): string {
  const what = volume.claim === "" ? `volume ${volume.name}` : `claim ${parseKey(volume.claim).name}`;
  return `${what} is not mounted at ${path}: it was unmounted while the pod runs, and not by the kubelet`;
}
