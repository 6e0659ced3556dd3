import { type Volume, Volumes } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import type { Kernels } from "./kernels.ts";

const volumeCapability = {
  accessType: { case: "block" as const, value: {} },
  accessMode: { mode: 1 },
};
const PATIENCE_MS = 150_000;

/** A raw volume in the pool `ceph`, and the calls that a cluster makes for it. */
export class Disk {
  readonly id: string;
  readonly #kernels: Kernels;

  private constructor(kernels: Kernels, id: string) {
    this.#kernels = kernels;
    this.id = id;
  }

  static async create(kernels: Kernels, name: string, bytes: bigint): Promise<Disk> {
    const controller = await kernels.controller();
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: bytes, limitBytes: 0n },
      parameters: { pool: "ceph" },
      volumeCapabilities: [volumeCapability],
    });
    return new Disk(kernels, volume?.volumeId ?? "");
  }

  async #object(): Promise<Volume> {
    return this.#kernels.store.get(Volumes, { name: this.id });
  }

  /** As a cluster asks for it: again, for as long as it is refused. Resolves with its device there. */
  async attach(node: string): Promise<string> {
    const controller = await this.#kernels.controller();
    const request = { volumeId: this.id, nodeId: node, volumeCapability };
    return eventually(
      `${this.id} to be attached to ${node}`,
      async () => {
        await controller.controllerPublishVolume(request);
        const { state, currentNodeID, device } = (await this.#object()).status ?? {};
        return state === "attached" && currentNodeID === node ? device : undefined;
      },
      {
        ...{ withinMs: PATIENCE_MS, everyMs: 200, mayThrow: true },
        lastSeen: async () => [(await this.#object()).status, this.#kernels.logs()],
      },
    );
  }

  /** Nobody needs it there any more. Of a node that is lost that is not answered before it is known: a cluster asks again. */
  async leave(node: string): Promise<void> {
    const controller = await this.#kernels.controller();
    await eventually(
      `${this.id} to leave ${node}`,
      async () => {
        await controller.controllerUnpublishVolume({ volumeId: this.id, nodeId: node });
        return true;
      },
      { withinMs: PATIENCE_MS, everyMs: 200, mayThrow: true },
    );
  }

  async remove(): Promise<void> {
    const controller = await this.#kernels.controller();
    await controller.deleteVolume({ volumeId: this.id });
  }
}
