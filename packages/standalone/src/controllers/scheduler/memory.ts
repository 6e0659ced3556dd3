import type { Pod } from "@mooring/store";
import { RETRY_MS } from "./decide.ts";

/** What the caches and the objects do not say (yet), by pod uid. */
export class SchedulerMemory {
  /** The node of pods that were bound a moment ago. */
  readonly assumed = new Map<string, string>();
  /** The last event about each pod that cannot be placed. */
  readonly #reported = new Map<string, { message: string; at: number }>();

  /** True: it had a place that the caches did not show yet. */
  forget({ metadata }: Pod): boolean {
    this.#reported.delete(metadata.uid ?? "");
    return this.assumed.delete(metadata.uid ?? "");
  }

  isReported({ metadata }: Pod, message: string): boolean {
    const last = this.#reported.get(metadata.uid ?? "");
    return last?.message === message && performance.now() - last.at < RETRY_MS;
  }

  reported({ metadata }: Pod, message: string): void {
    this.#reported.set(metadata.uid ?? "", { message, at: performance.now() });
  }
}
