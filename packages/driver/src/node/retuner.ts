import { deviceOn } from "@mooring/engine";
import { backoffMs, delay } from "@mooring/store";
import { findVolume } from "../objects/find.ts";
import { type NodeContext, withAttached } from "./context.ts";
import { applyTuning } from "./tuning.ts";

const RETRY = { baseMs: 200, maxMs: 30_000 };

/**
 * Puts mutable parameters that were changed elsewhere into effect on volumes that are staged here: on device and file
 * system, and for the pods that use them. What fails is tried again for as long as the volume is staged.
 */
export class Retuner {
  readonly #node: NodeContext;
  readonly #signal: AbortSignal;

  constructor(node: NodeContext, signal: AbortSignal) {
    this.#node = node;
    this.#signal = signal;
  }

  /** Never rejects. `name`: of the volume. */
  async changed(name: string): Promise<void> {
    // With its controller in this process the call itself does that, and reports what fails.
    if (this.#node.mode !== "node") return;
    for (let failures = 1; !this.#signal.aborted; failures++) {
      try {
        return await this.#node.tuning.run(name, () => this.#tune(name));
      } catch (error) {
        if (this.#signal.aborted) return;
        const message = "cannot put mutable parameters into effect; trying again";
        this.#node.logger.warn({ err: error, volume: name }, message);
        await delay(backoffMs(failures, RETRY), this.#signal).catch(() => {});
      }
    }
  }

  async #tune(name: string): Promise<void> {
    const { store, records, ioLimits } = this.#node;
    const volume = await findVolume(store, name, this.#signal);
    if (volume === undefined || (await records.findOf(volume))?.staged === undefined) return;
    // It has left, and will be unstaged; or the device is being opened, and it will be staged once more.
    if ((deviceOn(volume, this.#node.nodeID) ?? "") === "") return;
    await withAttached(this.#node, volume, (attached) => applyTuning(this.#node, volume, attached));
    await ioLimits?.follow(volume);
  }
}
