import { join } from "node:path";
import type { Nodes } from "./world.ts";

/** A mounted file system of one node, or a raw device that may move between two live ones. */
const KINDS = {
  filesystem: {
    capability: { accessType: { case: "mount", value: { fsType: "ext4" } }, accessMode: { mode: 1 } },
    bytes: 64n << 20n,
    parameters: {},
  },
  migratable: {
    capability: { accessType: { case: "block", value: {} }, accessMode: { mode: 5 } },
    bytes: 256n << 20n,
    parameters: { migratable: "true" },
  },
} as const;

type Kind = (typeof KINDS)[keyof typeof KINDS];

/** One CSI volume and what a kubelet would do with it on this or that machine. */
export class TestVolume {
  readonly id: string;
  readonly #nodes: Nodes;
  readonly #kind: Kind;

  private constructor(nodes: Nodes, kind: Kind, id: string) {
    this.#nodes = nodes;
    this.#kind = kind;
    this.id = id;
  }

  static async create(
    nodes: Nodes,
    name: string,
    pool: string,
    kind: keyof typeof KINDS = "filesystem",
  ): Promise<TestVolume> {
    const { capability, bytes, parameters } = KINDS[kind];
    const controller = await nodes.controller();
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: bytes, limitBytes: 0n },
      parameters: { pool, ...parameters },
      volumeCapabilities: [capability],
    });
    return new TestVolume(nodes, KINDS[kind], volume?.volumeId ?? "");
  }

  /** Where it is mounted, or its device is, on every machine that has it. */
  path(machine: string): string {
    return join(this.#folder(machine), "published");
  }

  #folder(machine: string): string {
    return join(this.#nodes.folder, `${machine}-${this.id}`);
  }

  /** ControllerPublishVolume alone. */
  async attach(machine: string): Promise<void> {
    const controller = await this.#nodes.controller();
    const volumeCapability = this.#kind.capability;
    await controller.controllerPublishVolume({ volumeId: this.id, nodeId: machine, volumeCapability });
  }

  /** Attach, stage, publish: afterwards programs on the machine can use `path`. */
  async publish(machine: string): Promise<string> {
    await this.attach(machine);
    return this.mount(machine);
  }

  async mount(machine: string): Promise<string> {
    const { node } = await this.#nodes.machine(machine).csi();
    const stagingTargetPath = join(this.#folder(machine), "staged");
    const targetPath = this.path(machine);
    const volume = { volumeId: this.id, volumeCapability: this.#kind.capability, stagingTargetPath };
    await this.#nodes.machine(machine).run("mkdir", "-p", stagingTargetPath);
    await node.nodeStageVolume(volume);
    await node.nodePublishVolume({ ...volume, targetPath });
    return targetPath;
  }

  async unmount(machine: string): Promise<void> {
    const { node } = await this.#nodes.machine(machine).csi();
    const stagingTargetPath = join(this.#folder(machine), "staged");
    await node.nodeUnpublishVolume({ volumeId: this.id, targetPath: this.path(machine) });
    await node.nodeUnstageVolume({ volumeId: this.id, stagingTargetPath });
  }

  /** What Kubernetes does when a pod has left a machine, or the machine is tainted as off. */
  async detach(machine: string): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.controllerUnpublishVolume({ volumeId: this.id, nodeId: machine });
  }

  /** The workload has left the machine. */
  async unpublish(machine: string): Promise<void> {
    await this.unmount(machine);
    await this.detach(machine);
  }

  async remove(): Promise<void> {
    const controller = await this.#nodes.controller();
    await controller.deleteVolume({ volumeId: this.id });
  }
}
