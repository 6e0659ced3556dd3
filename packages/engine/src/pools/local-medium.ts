import { canBeThick, type LocalPoolType } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import { backingFault, closeBacking, enlargeBacking, openBacking } from "./backing-file.ts";
import { FileImages } from "./file-images.ts";
import { FolderImages } from "./folder-images.ts";
import { folderUsers } from "./folder-users.ts";
import { copierOf } from "./group-copiers.ts";
import type { GroupCopier } from "./group-copy.ts";
import { fileDevices, type ImageDevices } from "./image-devices.ts";
import type { ImageStore } from "./image-store.ts";
import { type PoolLayout, poolLayout, sharedLayout } from "./layout.ts";
import type { Medium, PoolRoom } from "./medium.ts";
import type { PoolFault } from "./pool-fault.ts";
import { POOL_STARTS } from "./pool-filesystems.ts";
import { poolRoom } from "./room.ts";
import { closeShared, openShared } from "./shared-folder.ts";
import { ThickFiles } from "./thick-files.ts";

/** Where files and folders of images lie. */
export interface LocalOptions {
  host: Host;
  /** Absolute folder of the pool; made when it is not there. */
  path: string;
  /** Bytes of the sparse file behind an `xfs` or `btrfs` pool; default 20 GiB. A larger value grows the pool. */
  size?: number;
  /** A pool of several nodes: the folder that they all see, and this node's name. `path` is this node's own part. */
  shared?: { source: string; nodeID: string };
}

/** Images that are files, or folders, of a file system which this node has mounted. */
export class LocalMedium implements Medium {
  readonly block: boolean;
  readonly several: boolean;
  readonly images: ImageStore;
  readonly copier: GroupCopier;
  readonly devices: ImageDevices;
  readonly thick: ThickFiles | undefined;
  readonly description: string;
  readonly #type: LocalPoolType;
  readonly #options: LocalOptions;
  readonly #layout: PoolLayout;
  /** What was mounted before the last `open` is another agent's, or its keeper's, as well. */
  #wasMounted = true;

  constructor(type: LocalPoolType, options: LocalOptions) {
    const { path, shared, host } = options;
    this.#type = type;
    this.#options = options;
    this.block = type !== "directory";
    this.several = shared !== undefined;
    this.description = this.several ? "shared by several nodes" : `of type ${type}`;
    this.#layout = shared === undefined ? poolLayout(type, path) : sharedLayout(path, shared.source);
    const { images } = this.#layout;
    const maker = shared === undefined ? "" : `${shared.nodeID}~`;
    const thick = canBeThick(type, this.several) ? new ThickFiles(host, this.#layout) : undefined;
    this.thick = thick;
    this.images = this.block
      ? new FileImages(images, { loops: host.loops, maker, thick })
      : new FolderImages(images, host);
    this.copier = copierOf(type, host, { layout: this.#layout, images: this.images, maker, thick });
    this.devices = fileDevices(host.loops);
  }

  async open(): Promise<void> {
    const { host, size } = this.#options;
    const { images, shared, backing } = this.#layout;
    const mount = (shared ?? backing)?.mount;
    this.#wasMounted = mount === undefined || (await host.mounts.at(mount)).length > 0;
    if (shared !== undefined) return openShared(host, this.#layout, shared);
    const { filesystem, makeImages } = POOL_STARTS[this.#type];
    if (filesystem !== undefined) await openBacking(host, this.#layout, filesystem, size);
    if ((await this.fault()) === undefined) await makeImages(host, images);
  }

  async undoOpen(): Promise<void> {
    if (!this.#wasMounted && (await this.users()).length === 0) await this.close();
  }

  async fault(): Promise<PoolFault | undefined> {
    return backingFault(this.#options.host, this.#layout);
  }

  async close(): Promise<void> {
    const { host } = this.#options;
    const { shared } = this.#layout;
    await (shared === undefined ? closeBacking(host, this.#layout) : closeShared(host, shared));
  }

  async users(): Promise<string[]> {
    const { host } = this.#options;
    const { images } = this.#layout;
    if (!this.block) return folderUsers(await host.mounts.list(), images);
    return (await host.loops.list(images)).map((loop) => loop.path);
  }

  room(): Promise<PoolRoom> {
    return poolRoom(this.#options.host, this.#layout, this.#type);
  }

  async enlarge(size: number): Promise<void> {
    const { host } = this.#options;
    const { filesystem } = POOL_STARTS[this.#type];
    if (filesystem !== undefined) await enlargeBacking(host, this.#layout, filesystem, size);
  }
}
