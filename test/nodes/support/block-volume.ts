import { join } from "node:path";
import type { Nodes } from "./world.ts";

const capability = { accessType: { case: "block" as const, value: {} }, accessMode: { mode: 5 } };

/** A migratable CSI block volume, and what a kubelet would do with it on this or that machine. */
export class BlockVolume {
  readonly id: string;
  readonly #nodes: Nodes;

  private constructor(nodes: Nodes, id: string) {
    this.#nodes = nodes;
    this.id = id;
  }

  static async create(nodes: Nodes, name: string, pool: string): Promise<BlockVolume> {
    const controller = await nodes.controller();
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: 256n << 20n, limitBytes: 0n },
      parameters: { pool, migratable: "true" },
      volumeCapabilities: [capability],
    });
    return new BlockVolume(nodes, volume?.volumeId ?? "");
  }

  /** Where the device is on every machine that has it. */
  path(machine: string): string {
    return join(this.#folder(machine), "device");
  }

  #folder(machine: string): string {
    return join(this.#nodes.folder, `${machine}-${this.id}`);
  }

  /** ControllerPublishVolume alone. */
  async attach(machine: string): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.controllerPublishVolume({
      ...{ volumeId: this.id, nodeId: machine, volumeCapability: capability },
    });
  }

  /** Attach, stage, publish: afterwards programs on the machine can open `path`. */
  async publish(machine: string): Promise<string> {
    await this.attach(machine);
    const { node } = await this.#nodes.machine(machine).csi();
    const stagingTargetPath = join(this.#folder(machine), "staged");
    const volume = { volumeId: this.id, volumeCapability: capability, stagingTargetPath };
    await this.#nodes.machine(machine).run("mkdir", "-p", stagingTargetPath);
    await node.nodeStageVolume(volume);
    await node.nodePublishVolume({ ...volume, targetPath: this.path(machine) });
    return this.path(machine);
  }

  /** The workload has left the machine. */
  async unpublish(machine: string): Promise<void> {
    const { node } = await this.#nodes.machine(machine).csi();
    const stagingTargetPath = join(this.#folder(machine), "staged");
    await node.nodeUnpublishVolume({ volumeId: this.id, targetPath: this.path(machine) });
    await node.nodeUnstageVolume({ volumeId: this.id, stagingTargetPath });
    await this.detach(machine);
  }

  /** ControllerUnpublishVolume alone. */
  async detach(machine: string): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.controllerUnpublishVolume({ volumeId: this.id, nodeId: machine });
  }

  async remove(): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.deleteVolume({ volumeId: this.id });
  }
}
