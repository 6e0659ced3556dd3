import { mkdir } from "node:fs/promises";
import { EngineError } from "../../errors.ts";
import type { Host, LoopAttachment, SectorSize } from "../../host/host.ts";
import type { GroupCopier } from "../group-copy.ts";
import type { Image } from "../image.ts";
import type { ImageDevices } from "../image-devices.ts";
import { rbdLayout } from "../layout.ts";
import type { Medium, PoolRoom } from "../medium.ts";
import { RbdCommands } from "./commands.ts";
import { readSectorSize, SECTOR_SIZE } from "./image-sectors.ts";
import { listOf, objectOf, parse } from "./json.ts";
import { OpenFiles } from "./open-files.ts";
import { checkPlace, describePlace, FLATTEN_DEPTH, type RbdPlace } from "./place.ts";
import { rbdCopier } from "./rbd-copier.ts";
import { RbdCopies } from "./rbd-copies.ts";
import { RbdImages } from "./rbd-images.ts";
import { readWatchers } from "./shut-out.ts";

interface CephRoom extends PoolRoom {
  /** The cluster takes nothing more: writers wait. */
  full: boolean;
}

/** The cluster itself counts every few seconds only. */
const ROOM_MS = 2000;
/** That a pool is not full is believed for so long. */
const NOT_FULL_MS = 10_000;

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
  readonly featured = true;
  readonly description = "of type rbd";
  readonly images: RbdImages;
  readonly copier: GroupCopier;
  readonly devices: ImageDevices;
  readonly #host: Host;
  readonly #place: RbdPlace;
  readonly #folder: string;
  readonly #commands: RbdCommands;
  readonly #files: OpenFiles;
  #room: { at: number; read: Promise<CephRoom> } | undefined;

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
        const sectorSize = await this.#open(image);
        return loops.attach(image.path, { ...options, sectorSize });
      },
      withhold: async (image) => {
        const info = await this.images.present(image.id);
        if ((await readSectorSize(this.#commands, info)) !== SECTOR_SIZE) throw withheldInPart(image.id);
        await this.#open(image);
        return loops.attachWithheld(image.path);
      },
      restore: async ({ id, path: file }, device) => {
        // A client does not read a size that another one has set since it opened the image.
        await files.resize(file, (await this.images.present(id)).size);
        await loops.restore(device);
      },
      clients: async ({ id, path: file }) => {
        const own = await files.client(file);
        // Of a process the cluster knows: nobody else has the image open.
        return own === undefined ? readWatchers(commands, (await this.images.present(id)).name) : [own];
      },
      detach: (device, options) => this.#detach(device, options),
    };
  }

  /** The size of its device's sectors. */
  async #open({ id, path }: Pick<Image, "id" | "path">): Promise<SectorSize> {
    const info = await this.images.present(id);
    // Read while its client starts, which takes longer.
    const reading = readSectorSize(this.#commands, info);
    reading.catch(() => {});
    await this.#files.open(info, path);
    return reading;
  }

  async #detach(device: LoopAttachment, options: { lastUser?: boolean } = {}): Promise<void> {
    const { loops } = this.#host;
    await loops.detach(device, options);
    const file = device.backingFile;
    if (!file.startsWith(`${this.#folder}/`)) return;
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

  async room(): Promise<PoolRoom> {
    const { totalBytes, freeBytes } = await this.#readOnce();
    return { totalBytes, freeBytes };
  }

  async suspended(): Promise<boolean> {
    const known = this.#room;
    const recent = known !== undefined && this.#host.clock.sinceBoot() - known.at <= NOT_FULL_MS;
    // Each device that is opened asks.
    if (recent && !(await known.read).full) return false;
    return (await this.#readOnce()).full;
  }

  #readOnce(): Promise<CephRoom> {
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

  async #readRoom(): Promise<CephRoom> {
    const { stdout } = await this.#commands.ceph(["df", "detail", "--format", "json"]);
    return cephRoom(stdout, this.#place);
  }

  /** The cluster's administrator makes it larger. */
  async enlarge(): Promise<void> {}
}

/** A device that is withheld keeps its first 512 bytes: no sector of 4096, but one of these. */
function withheldInPart(id: string): EngineError {
  const message = `image ${id} has sectors of 512 bytes: it does not move while it is in use`;
  return new EngineError("FAILED_PRECONDITION", message, { hint: "stop its workload, and start it there" });
}

/** What the cluster can still take of this pool, with all its copies and up to its full ratio; its quota where it has one. */
function cephRoom(json: string, place: RbdPlace): CephRoom {
  const found = listOf(objectOf(parse(json))["pools"])
    .map(objectOf)
    .find(({ name }) => name === place.pool);
  if (found === undefined) {
    throw new EngineError("FAILED_PRECONDITION", `the cluster has no pool ${place.pool}`, {
      hint: `ceph osd pool create ${place.pool} && rbd pool init ${place.pool}`,
    });
  }
  const stats = objectOf(found["stats"]);
  const number = (key: string): number => Number(stats[key] ?? 0);
  const [used, left, quota] = [number("stored"), number("max_avail"), number("quota_bytes")];
  if (Number.isNaN(used + left))
    throw new EngineError("UNAVAILABLE", `the cluster does not report how full ${describePlace(place)} is`);
  const freeBytes = quota ? Math.min(left, Math.max(0, quota - used)) : left;
  const objects = number("quota_objects");
  const full = freeBytes <= 0 || (objects > 0 && number("objects") >= objects);
  return { totalBytes: Math.floor(used + freeBytes), freeBytes: Math.floor(freeBytes), full };
}
