import assert from "node:assert/strict";
import { after } from "node:test";
import {
  type AttachmentTicket,
  ticketStatus,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { type ObjectStore, PersistentVolumeClaims, PersistentVolumes } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { Kubectl } from "./kubectl.ts";
import { claim } from "./manifests.ts";
import { mooring } from "./mooring.ts";
import { Up } from "./up.ts";

const CLAIM = { namespace: "default", name: "data" };

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
  /** Both streams. */
  text: string;
}

/** A running `mooring up` with one volume, that of the claim `default/data`, and who holds it. */
export class OneVolume {
  readonly up: Up;
  store: ObjectStore;
  kubectl: Kubectl;
  /** Its name as a Volume and as a VolumeAttachment. */
  readonly name: string;

  private constructor(up: Up, store: ObjectStore, name: string) {
    this.up = up;
    this.store = store;
    this.kubectl = new Kubectl(up.kubeconfig);
    this.name = name;
  }

  /** For the tests of one file; disposed of when they have ended. */
  static async create(): Promise<OneVolume> {
    const up = await Up.create();
    after(() => up.disposeWhole());
    await up.start();
    const store = await up.store();
    await store.create(PersistentVolumeClaims, claim(CLAIM.namespace, CLAIM.name));
    const bound = await eventually("the claim to be bound", async () => {
      return (await store.get(PersistentVolumeClaims, CLAIM)).spec?.volumeName;
    });
    const { spec } = await store.get(PersistentVolumes, { name: bound });
    return new OneVolume(up, store, spec?.csi?.volumeHandle ?? "");
  }

  /** A kill and a new start. */
  async restart(): Promise<void> {
    await this.up.end("SIGKILL");
    await this.up.start();
    this.store = await this.up.store();
    this.kubectl = new Kubectl(this.up.kubeconfig);
  }

  readonly mooring = async (...args: string[]): Promise<Ran> => {
    const ran = await mooring(...args, "--kubeconfig", this.up.kubeconfig);
    return { ...ran, text: ran.stdout + ran.stderr };
  };

  /** What a command prints that has to succeed. */
  readonly done = async (...args: string[]): Promise<string> => {
    const { code, stdout, text } = await this.mooring(...args);
    assert.equal(code, 0, `${args.join(" ")}: ${text}`);
    return stdout;
  };

  readonly attachment = (): Promise<VolumeAttachment> =>
    this.store.get(VolumeAttachments, { name: this.name });

  readonly tickets = async (): Promise<Record<string, AttachmentTicket>> =>
    (await this.attachment()).spec.attachmentTickets ?? {};

  /** Waits until the ticket has what it asks for. */
  readonly satisfied = (id: string): Promise<true> =>
    eventually(
      `ticket ${id} to be satisfied`,
      async () => ticketStatus(await this.attachment(), id)?.satisfied === true,
    );

  readonly detached = (): Promise<true> =>
    eventually("the volume to be detached", async () => {
      return (await this.store.get(Volumes, { name: this.name })).status?.state === "detached";
    });
}
