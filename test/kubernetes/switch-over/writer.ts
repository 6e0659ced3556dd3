import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import {
  KubeVolumeAttachments,
  PersistentVolumeClaims,
  PersistentVolumes,
  parseQuantity,
  type RestStore,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { type Driver, NODE } from "../../csi/support/driver.ts";
import { capability } from "../../csi/support/volumes.ts";
import { DRIVER } from "./cluster.ts";

/** One number after the other, each on the disk before the next. */
const SCRIPT = 'i="$1"; while :; do i=$((i+1)); echo $i >> log; sync log; done';

/** Where a volume is, as the node service is asked for it. */
interface Place {
  volumeId: string;
  publishContext: Record<string, string>;
  volumeCapability: ReturnType<typeof capability>;
  stagingTargetPath: string;
}

/** A volume that is attached, mounted as a kubelet does it, and written all the time. */
export class Writer {
  readonly #store: RestStore;
  readonly #driver: Driver;
  readonly #claim: string;
  readonly #place: Place;
  #child: ChildProcess | undefined;

  private constructor({ store, driver }: { store: RestStore; driver: Driver }, claim: string, place: Place) {
    this.#store = store;
    this.#driver = driver;
    this.#claim = claim;
    this.#place = place;
  }

  get #target(): string {
    return this.#driver.path(`target-${this.#place.volumeId}`);
  }

  /** Waits for the attachment of the claim's volume, and begins. */
  static async start(store: RestStore, driver: Driver, claim: string): Promise<Writer> {
    const { spec } = await store.get(PersistentVolumeClaims, { namespace: "default", name: claim });
    const volume = await store.get(PersistentVolumes, { name: spec?.volumeName ?? "" });
    const name = `attachment-${claim}`;
    await store.create(KubeVolumeAttachments, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name } },
      spec: { attacher: DRIVER, nodeName: NODE, source: { persistentVolumeName: volume.metadata.name } },
    });
    const attached = await eventually(`${claim} is attached`, async () => {
      const found = await store.get(KubeVolumeAttachments, { name });
      return found.status?.attached === true ? found : undefined;
    });
    const volumeId = volume.spec?.csi?.volumeHandle ?? "";
    const writer = new Writer({ store, driver }, claim, {
      ...{ volumeId, publishContext: attached.status?.attachmentMetadata ?? {} },
      ...{ volumeCapability: capability({ fsType: "ext4" }) },
      stagingTargetPath: driver.path(`staging-${volumeId}`),
    });
    await writer.#mount();
    writer.#write(0);
    return writer;
  }

  /** Resolves when it has written more than it had. */
  async goesOn(): Promise<void> {
    const before = await this.#numbers();
    await eventually("the writer to go on", async () => {
      assert.equal(this.#child?.exitCode, null, "the writer has failed");
      return (await this.#numbers()).length > before.length + 5;
    });
  }

  /** Asks for a larger claim, and does the kubelet's part: with the next mount, as some machines grow no file system before. */
  async grow(storage: string): Promise<void> {
    const [store, key] = [this.#store, { namespace: "default", name: this.#claim }];
    const body = { spec: { resources: { requests: { storage } } } };
    await store.patch(PersistentVolumeClaims, key, { type: "merge", body });
    await eventually(`${this.#claim} is to grow on its node`, async () => {
      const { status } = await store.get(PersistentVolumeClaims, key);
      return status?.allocatedResourceStatuses?.["storage"] === "NodeResizePending";
    });
    const written = await this.stop();
    await this.#mount();
    this.#write(written.length);
    const { bsize, blocks } = await statfs(this.#target);
    assert.ok(bsize * blocks > 0.8 * Number(parseQuantity(storage)), `${bsize * blocks} of ${storage}`);
    const status = { capacity: { storage }, allocatedResourceStatuses: null, conditions: [] };
    await store.patch(
      PersistentVolumeClaims,
      key,
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
  }

  /** Ends it, unmounts the volume, and throws when a number is missing. */
  async end(): Promise<void> {
    const numbers = await this.stop();
    const all = numbers.map((_, index) => index + 1);
    assert.deepEqual(numbers, all);
  }

  /** Ends it, unmounts the volume, and returns what was in it. */
  async stop(): Promise<number[]> {
    const child = this.#child;
    if (child !== undefined) {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    const numbers = await this.#numbers();
    const { volumeId, stagingTargetPath } = this.#place;
    await this.#driver.node.nodeUnpublishVolume({ volumeId, targetPath: this.#target });
    await this.#driver.node.nodeUnstageVolume({ volumeId, stagingTargetPath });
    return numbers;
  }

  async #mount(): Promise<void> {
    await mkdir(this.#place.stagingTargetPath, { recursive: true });
    await this.#driver.node.nodeStageVolume(this.#place);
    await this.#driver.node.nodePublishVolume({ ...this.#place, targetPath: this.#target });
  }

  #write(from: number): void {
    this.#child = spawn("sh", ["-c", SCRIPT, "sh", String(from)], { cwd: this.#target, stdio: "ignore" });
  }

  async #numbers(): Promise<number[]> {
    const text = await readFile(join(this.#target, "log"), "utf8").catch(() => "");
    return text.split("\n").slice(0, -1).map(Number);
  }
}
