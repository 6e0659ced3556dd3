import { type Volume, Volumes } from "@mooring/engine";
import type { Kernels } from "./kernels.ts";
import { repeated } from "./repeated.ts";

/** How a volume is used; numbers as in CSI. */
const KINDS = {
  raw: { access: { case: "block", value: {} }, mode: 1, parameters: {} },
  /** Raw, and may be on two nodes while its workload moves. */
  migratable: { access: { case: "block", value: {} }, mode: 5, parameters: { migratable: "true" } },
  mounted: { access: { case: "mount", value: { fsType: "ext4" } }, mode: 1, parameters: {} },
  /** A file system on many nodes. */
  shared: { access: { case: "mount", value: { fsType: "xfs" } }, mode: 5, parameters: {} },
} as const;
export type Kind = keyof typeof KINDS;

/** A volume in the pool `ceph`, and the calls that a cluster and its kubelets make for it. */
export class Disk {
  readonly id: string;
  readonly #kernels: Kernels;
  readonly #kind: Kind;

  private constructor(kernels: Kernels, kind: Kind, id: string) {
    this.#kernels = kernels;
    this.#kind = kind;
    this.id = id;
  }

  static async create(kernels: Kernels, name: string, bytes: bigint, kind: Kind = "raw"): Promise<Disk> {
    const controller = await kernels.controller();
    const { access, mode, parameters } = KINDS[kind];
    const request = {
      name,
      capacityRange: { requiredBytes: bytes, limitBytes: 0n },
      parameters: { pool: "ceph", ...parameters },
      volumeCapabilities: [{ accessType: access, accessMode: { mode } }],
    };
    const { volume } = await repeated(`volume ${name}`, () => controller.createVolume(request));
    return new Disk(kernels, kind, volume?.volumeId ?? "");
  }

  get #capability() {
    const { access, mode } = KINDS[this.#kind];
    return { accessType: access, accessMode: { mode } };
  }

  async status(): Promise<NonNullable<Volume["status"]>> {
    const { status } = await this.#kernels.store.get(Volumes, { name: this.id });
    if (status === undefined) throw new Error(`${this.id} has no status`);
    return status;
  }

  #repeated<T>(what: string, call: () => Promise<T>): Promise<Exclude<T, undefined | false>> {
    return repeated(`${this.id} ${what}`, call, async () => [await this.status(), this.#kernels.logs()]);
  }

  /** ControllerPublishVolume alone. */
  async ask(node: string): Promise<void> {
    const controller = await this.#kernels.controller();
    const request = { volumeId: this.id, nodeId: node, volumeCapability: this.#capability };
    await this.#repeated(`to be there for ${node}`, () => controller.controllerPublishVolume(request));
  }

  /** As a cluster asks for it. Resolves with its device there. */
  async attach(node: string): Promise<string> {
    const controller = await this.#kernels.controller();
    const request = { volumeId: this.id, nodeId: node, volumeCapability: this.#capability };
    return this.#repeated(`to be attached to ${node}`, async () => {
      await controller.controllerPublishVolume(request);
      const { state, currentNodeID, device } = await this.status();
      return state === "attached" && currentNodeID === node ? device : undefined;
    });
  }

  /** Nobody needs it there any more. Of a node that is lost that is not known at once: a cluster asks again. */
  async leave(node: string): Promise<void> {
    const controller = await this.#kernels.controller();
    await this.#repeated(`to leave ${node}`, () =>
      controller.controllerUnpublishVolume({ volumeId: this.id, nodeId: node }),
    );
  }

  #paths() {
    const folder = `/run/tmp/${this.id}`;
    return { stagingTargetPath: `${folder}/staged`, targetPath: `${folder}/published` };
  }

  /** What a node's kubelet does for a pod. Resolves with where the pod has it. */
  async mount(node: string): Promise<string> {
    const { guest, csi } = this.#kernels.node(node);
    const { stagingTargetPath, targetPath } = this.#paths();
    const volume = { volumeId: this.id, volumeCapability: this.#capability, stagingTargetPath };
    await guest.run(`mkdir -p ${stagingTargetPath}`);
    await this.#repeated(`to be staged on ${node}`, () => csi.nodeStageVolume(volume));
    await this.#repeated(`to be published on ${node}`, () =>
      csi.nodePublishVolume({ ...volume, targetPath }),
    );
    return targetPath;
  }

  async unmount(node: string): Promise<void> {
    const { csi } = this.#kernels.node(node);
    const { stagingTargetPath, targetPath } = this.#paths();
    const volumeId = this.id;
    await this.#repeated(`to be unpublished on ${node}`, () =>
      csi.nodeUnpublishVolume({ volumeId, targetPath }),
    );
    await this.#repeated(`to be unstaged on ${node}`, () =>
      csi.nodeUnstageVolume({ volumeId, stagingTargetPath }),
    );
  }

  async remove(): Promise<void> {
    const controller = await this.#kernels.controller();
    await repeated(`${this.id} to be deleted`, () => controller.deleteVolume({ volumeId: this.id }));
  }
}
