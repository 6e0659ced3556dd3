import type { ContainerName } from "./container-files.ts";
import type { WaitingMonitor } from "./launcher.ts";

/** Each is two small processes that wait: of so many pods whose volumes do not come. */
const MOST = 32;

/** Monitors of containers that have not been started yet, made while the volumes of their pods are on their way. */
export class MonitorsAhead {
  readonly #made = new Map<string, { container: ContainerName; monitor: Promise<WaitingMonitor> }>();

  /** Has one made, unless it is there or there are many. Its failure is left to the start. */
  make(container: ContainerName, make: () => Promise<WaitingMonitor>): void {
    if (this.#made.has(container.id) || this.#made.size >= MOST) return;
    const monitor = make();
    monitor.catch(() => {});
    this.#made.set(container.id, { container, monitor });
  }

  /** The one of a container that is started now; undefined where there is none that would begin. */
  async take(id: string): Promise<WaitingMonitor | undefined> {
    const made = this.#made.get(id);
    this.#made.delete(id);
    const monitor = await made?.monitor.catch(() => undefined);
    return monitor?.canBegin() ? monitor : undefined;
  }

  /** Has those of a pod end, or all; resolves to their containers, which nobody starts any more. */
  async drop(podUID?: string): Promise<ContainerName[]> {
    const dropped: ContainerName[] = [];
    for (const [id, { container, monitor }] of this.#made) {
      if (podUID !== undefined && container.pod.uid !== podUID) continue;
      this.#made.delete(id);
      (await monitor.catch(() => undefined))?.drop();
      dropped.push(container);
    }
    return dropped;
  }
}
