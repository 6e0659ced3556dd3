import { mkdir } from "node:fs/promises";
import { EngineError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { GroupCopier } from "../group-copy.ts";
import type { Image } from "../image.ts";
import type { ImageDevices } from "../image-devices.ts";
import { rbdLayout } from "../layout.ts";
import type { Medium, PoolRoom } from "../medium.ts";
import { RbdCommands } from "./commands.ts";
import { OpenFiles } from "./open-files.ts";
import { checkPlace, describePlace, FLATTEN_DEPTH, type RbdPlace } from "./place.ts";
import { rbdCopier } from "./rbd-copier.ts";
import { RbdCopies } from "./rbd-copies.ts";
import { RbdImages } from "./rbd-images.ts";
import { listOf, objectOf, parse } from "./rbd-info.ts";

/** The cluster itself counts every few seconds only. */
const ROOM_MS = 2000;

/** Which Ceph pool, and this node's part of it. */
export interface RbdOptions {
  host: Host;
  /** Absolute folder of this node for the pool; made when it is not there. */
  path: string;
  nodeID: string;
  place: RbdPlace;
}

/** Images of a Ceph cluster, which every node reaches by itself. */
export class RbdMedium implements Medium {
  readonly block = true;
  readonly several = true;
  readonly description = "of type rbd";
  readonly images: RbdImages;
  readonly copier: GroupCopier;
  readonly devices: ImageDevices;
  readonly #host: Host;
  readonly #place: RbdPlace;
  readonly #folder: string;
  readonly #commands: RbdCommands;
  readonly #files: OpenFiles;
  #room: { at: number; read: Promise<PoolRoom> } | undefined;

  constructor({ host, path, nodeID, place }: RbdOptions) {
    checkPlace(place);
    const { folder, images } = rbdLayout(path);
    const { exec, clock, loops } = host;
    this.#host = host;
    this.#place = place;
    this.#folder = images;
    const commands = new RbdCommands({ exec, clock, place, folder });
    const files = new OpenFiles(host, place, commands);
    const maker = nodeID;
    const copies = new RbdCopies({ commands, maker, depth: place.flattenDepth ?? FLATTEN_DEPTH });
    this.#commands = commands;
    this.#files = files;
    this.images = new RbdImages({ commands, copies, files, loops, maker, folder: images });
    this.copier = rbdCopier(this.images, copies);
    this.devices = {
      attach: async (image, options) => {
        await this.#open(image);
        return loops.attach(image.path, options);
      },
      withhold: async (image) => {
        await this.#open(image);
        return loops.attachWithheld(image.path);
      },
      restore: async ({ id, path: file }, device) => {
        // A client does not look at a size that another one has set since it opened the image.
        await files.resize(file, (await this.images.present(id)).size);
        await loops.restore(device);
      },
      detach: (device, options) => this.#detach(device, options),
    };
  }

  async #open({ id, path }: Pick<Image, "id" | "path">): Promise<void> {
    await this.#files.open((await this.images.present(id)).name, path);
  }

  async #detach(device: string, options: { lastUser?: boolean } = {}): Promise<void> {
    const { loops } = this.#host;
    const file = (await loops.at(device))?.backingFile;
    await loops.detach(device, options);
    if (file === undefined || !file.startsWith(`${this.#folder}/`)) return;
    // With a last user it goes later, and its file with the next opening of the pool.
    if ((await loops.list(file)).length === 0) await this.#files.close(file);
  }

  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#commands.prepare();
    await this.room();
    await this.#files.closeUnused(this.#folder);
  }

  /** There is no file system that could give up: whether the cluster works shows with each command. */
  async fault(): Promise<undefined> {
    return undefined;
  }

  async close(): Promise<void> {
    this.images.stop();
    await this.#files.closeUnused(this.#folder);
  }

  async users(): Promise<string[]> {
    return (await this.#host.loops.list(this.#folder)).map(({ path }) => path);
  }

  room(): Promise<PoolRoom> {
    const now = this.#host.clock.sinceBoot();
    if (this.#room === undefined || now - this.#room.at > ROOM_MS) {
      const read = this.#readRoom();
      this.#room = { at: now, read };
      read.catch(() => {
        this.#room = undefined;
      });
    }
    return this.#room.read;
  }

  /** What the cluster can still take of this pool, with all its copies and up to its full ratio; its quota where it has one. */
  async #readRoom(): Promise<PoolRoom> {
    const { stdout } = await this.#commands.ceph(["df", "detail", "--format", "json"]);
    const found = listOf(objectOf(parse(stdout))["pools"])
      .map(objectOf)
      .find(({ name }) => name === this.#place.pool);
    if (found === undefined) {
      throw new EngineError("FAILED_PRECONDITION", `the cluster has no pool ${this.#place.pool}`, {
        hint: `ceph osd pool create ${this.#place.pool} && rbd pool init ${this.#place.pool}`,
      });
    }
    const { stored, max_avail, quota_bytes } = objectOf(found["stats"]);
    const [used, left, quota] = [stored, max_avail, quota_bytes].map((value) => Number(value ?? 0));
    if (used === undefined || left === undefined || Number.isNaN(used + left))
      throw new EngineError(
        "UNAVAILABLE",
        `the cluster does not tell how full ${describePlace(this.#place)} is`,
      );
    const freeBytes = quota ? Math.min(left, Math.max(0, quota - used)) : left;
    return { totalBytes: Math.floor(used + freeBytes), freeBytes: Math.floor(freeBytes) };
  }

  /** The cluster's administrator makes it larger. */
  async enlarge(): Promise<void> {}
}
