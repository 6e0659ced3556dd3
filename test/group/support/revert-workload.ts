import { createHash } from "node:crypto";
import { type ObjectStore, waitFor } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { type VolumeAttachment, VolumeAttachments } from "../../../packages/engine/src/api/attachment.ts";
import { Volumes } from "../../../packages/engine/src/api/volume.ts";
import { NODE, until } from "../../../packages/engine/src/testing/agent.ts";
import { addTicket, removeTickets, ticketStatus } from "../../../packages/engine/src/tickets/tickets.ts";
import { readRecordsAt } from "./volume-set.ts";

const ID = "csi-w";
/** Counts what workloads of this process do, so that it is known what was before what. */
let moments = 0;

/** What a workload saw in a volume that it had from one moment to another. */
export interface Seen {
  volume: string;
  sum: string;
  from: number;
  to: number;
}

export const sumOf = (records: Buffer): string => createHash("sha256").update(records).digest("hex");

/** Who uses one volume: comes by a ticket, and leaves. */
export class Workload {
  readonly name: string;
  readonly #store: ObjectStore;
  readonly #seen: Seen[] = [];

  constructor(store: ObjectStore, name: string) {
    this.#store = store;
    this.name = name;
  }

  /** Waits for the volume; resolves with its device. */
  async enter(): Promise<string> {
    const { name } = this;
    await addTicket(this.#store, name, { id: ID, type: "csi-attacher", nodeID: NODE }, { now: new Date() });
    const has = (attachment: VolumeAttachment | undefined) =>
      attachment !== undefined && ticketStatus(attachment, ID)?.satisfied === true;
    await waitFor(
      this.#store,
      { resource: VolumeAttachments, key: { name } },
      has,
      AbortSignal.timeout(90_000),
    );
    const { status } = await until(
      this.#store,
      Volumes,
      name,
      (volume) => volume.status?.device !== undefined,
    );
    return status?.device ?? "";
  }

  async leave(): Promise<void> {
    await removeTickets(this.#store, this.name, ({ id }) => id === ID);
    await until(
      this.#store,
      Volumes,
      this.name,
      ({ status }) => (status?.currentNodeID ?? "") === "" || status?.frontendDisabled === true,
    );
  }

  /** Comes, reads and leaves, again and again, and once more when all is over. */
  async watch(over: () => boolean): Promise<Seen[]> {
    for (;;) {
      const last = over();
      const device = await this.enter();
      moments += 1;
      const from = moments;
      const sum = sumOf(await readRecordsAt(device));
      moments += 1;
      this.#seen.push({ volume: this.name, sum, from, to: moments });
      await this.leave();
      if (last) return this.#seen;
    }
  }

  /** Waits until it has read so many times more. */
  async seenOften(times: number): Promise<void> {
    const goal = this.#seen.length + times;
    await eventually(`${this.name} to be read`, async () => this.#seen.length >= goal);
  }

  /** No ticket has it, and it is closed. */
  async idle(): Promise<void> {
    const { name } = this;
    const free = (attachment: VolumeAttachment | undefined) =>
      Object.keys(attachment?.spec.attachmentTickets ?? {}).length === 0;
    await waitFor(
      this.#store,
      { resource: VolumeAttachments, key: { name } },
      free,
      AbortSignal.timeout(90_000),
    );
    await until(this.#store, Volumes, name, ({ status }) => status?.state === "detached");
  }
}
