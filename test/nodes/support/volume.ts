import { join } from "node:path";
import type { Nodes } from "./world.ts";

const capability = {
  accessType: { case: "mount" as const, value: { fsType: "ext4" } },
  accessMode: { mode: 1 },
};

/** One CSI volume and what a kubelet would do with it on this or that machine. */
export class TestVolume {
  readonly id: string;
  readonly #nodes: Nodes;

  private constructor(nodes: Nodes, id: string) {
    this.#nodes = nodes;
    this.id = id;
  }

  static async create(nodes: Nodes, name: string, pool: string): Promise<TestVolume> {
    const controller = await nodes.controller();
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: 64n << 20n, limitBytes: 0n },
      parameters: { pool },
      volumeCapabilities: [capability],
    });
    return new TestVolume(nodes, volume?.volumeId ?? "");
  }

  /** Where it is mounted on every machine that has it. */
  path(machine: string): string {
    return join(this.#nodes.folder, `${machine}-${this.id}`, "published");
  }

  /** Attach, stage, publish: afterwards programs on the machine can use `path`. */
  async publish(machine: string): Promise<string> {
    const controller = await this.#nodes.controller();
    await controller.controllerPublishVolume({
      ...{ volumeId: this.id, nodeId: machine, volumeCapability: capability },
    });
    return this.mount(machine);
  }

  async mount(machine: string): Promise<string> {
    const { node } = await this.#nodes.machine(machine).csi();
    const stagingTargetPath = join(this.#nodes.folder, `${machine}-${this.id}`, "staged");
    const targetPath = this.path(machine);
    const volume = { volumeId: this.id, volumeCapability: capability, stagingTargetPath };
    await this.#nodes.machine(machine).run("mkdir", "-p", stagingTargetPath);
    await node.nodeStageVolume(volume);
    await node.nodePublishVolume({ ...volume, targetPath });
    return targetPath;
  }

  async unmount(machine: string): Promise<void> {
    const { node } = await this.#nodes.machine(machine).csi();
    const stagingTargetPath = join(this.#nodes.folder, `${machine}-${this.id}`, "staged");
    await node.nodeUnpublishVolume({ volumeId: this.id, targetPath: this.path(machine) });
    await node.nodeUnstageVolume({ volumeId: this.id, stagingTargetPath });
  }

  /** What Kubernetes does when a pod has left a machine, or the machine is said to be off. */
  async detach(machine: string): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.controllerUnpublishVolume({ volumeId: this.id, nodeId: machine });
  }

  async remove(): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.deleteVolume({ volumeId: this.id });
  }
}
