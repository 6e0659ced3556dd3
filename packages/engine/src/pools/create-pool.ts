import { join } from "node:path";
import { KeyedLock, makeFolder } from "@mooring/store";
import type { PoolType } from "../api/pool.ts";
import { EngineError } from "../errors.ts";
import type { MakeOptions, PoolBackend, PoolLimits, PoolUsage, ReplaceOptions } from "./backend.ts";
import { type BudgetRules, DEFAULT_OVERCOMMIT, DEFAULT_RESERVE_FRACTION, requireBudget } from "./budget.ts";
import type { Copy, GroupCopier, GroupCopy, PreCopies, Work } from "./group-copy.ts";
import type { Image } from "./image.ts";
import type { ImageDevices } from "./image-devices.ts";
import { checkImageId } from "./image-id.ts";
import { imageSize, requireRoom, sameImage, sized } from "./image-sizes.ts";
import type { ImageStore } from "./image-store.ts";
import { LOCK_FILE } from "./layout.ts";
import { Ledger } from "./ledger.ts";
import { LocalMedium, type LocalOptions } from "./local-medium.ts";
import type { Medium } from "./medium.ts";
import type { PoolFault } from "./pool-fault.ts";
import { acquirePoolLock, type PoolLock } from "./pool-lock.ts";
import { RbdMedium, type RbdOptions } from "./rbd/rbd-medium.ts";
import type { ThickFiles } from "./thick-files.ts";

/** Where a pool lies, and its limits. */
export type PoolOptions = PoolLimits & LocalOptions & { rbd?: Pick<RbdOptions, "nodeID" | "place"> };

/** A pool, as this node sees it. Nothing happens before `open`. */
export function createPool(type: PoolType, options: PoolOptions): PoolBackend {
  return new Pool(type, options, mediumOf(type, options));
}

function mediumOf(type: PoolType, options: PoolOptions): Medium {
  const { host, path, rbd } = options;
  if (type !== "rbd") {
    if (rbd === undefined) return new LocalMedium(type, options);
    throw new EngineError("INVALID_ARGUMENT", `a pool of type ${type} is in no Ceph cluster`, {
      hint: "leave out spec.rbd of the Pool",
    });
  }
  if (rbd !== undefined) return new RbdMedium({ host, path, ...rbd });
  throw new EngineError("INVALID_ARGUMENT", "a pool of type rbd needs to know which Ceph pool it is", {
    hint: "set spec.rbd of the Pool",
  });
}

class Pool implements PoolBackend {
  readonly type: PoolType;
  readonly block: boolean;
  readonly devices: ImageDevices;
  readonly #options: PoolOptions;
  readonly #medium: Medium;
  readonly #images: ImageStore;
  readonly #copier: GroupCopier;
  readonly #work = new KeyedLock();
  readonly #ledger = new Ledger();
  /** Images that group copies are making. */
  readonly #copying = new Set<string>();
  readonly #thick: ThickFiles | undefined;
  #limits: PoolLimits;
  #lock: PoolLock | undefined;

  constructor(type: PoolType, options: PoolOptions, medium: Medium) {
    this.type = type;
    this.block = medium.block;
    this.devices = medium.devices;
    this.#options = options;
    this.#limits = options;
    this.#medium = medium;
    this.#thick = medium.thick;
    this.#images = medium.images;
    this.#copier = medium.copier;
  }

  get limits(): PoolLimits {
    return this.#limits;
  }

  limit(limits: PoolLimits): void {
    this.#limits = limits;
  }

  get isOpen(): boolean {
    return this.#lock !== undefined;
  }

  async open(): Promise<void> {
    if (this.isOpen) return;
    const { host, path } = this.#options;
    await makeFolder(path, 0o700);
    this.#lock = await acquirePoolLock(join(path, LOCK_FILE), host);
    try {
      await this.#load();
    } catch (error) {
      await this.#medium.undoOpen?.().catch(() => {});
      await this.leave();
      throw error;
    }
  }

  async #load(): Promise<void> {
    await this.#medium.open();
    // One that has failed may not even be read. Its images can still be released, so that it can be opened anew.
    if ((await this.#medium.fault()) !== undefined) return;
    await this.#images.sweep();
    await this.#copier.sweep();
    await this.#count();
  }

  async fault(): Promise<PoolFault | undefined> {
    return this.#medium.fault();
  }

  async reopen(): Promise<void> {
    this.#requireOpen();
    await this.#load();
  }

  /** Other nodes make images in a shared pool, too; of what is being made here the wish is known already. */
  async #count(): Promise<void> {
    const isBeingMade = (id: string): boolean => this.#work.isHeld(id) || this.#copying.has(id);
    const count = this.#ledger.beginCount(isBeingMade);
    count(await this.#images.list());
  }

  async close(): Promise<void> {
    if (this.#lock === undefined) return;
    const users = await this.#medium.users();
    if (users.length > 0) {
      const message = `pool ${this.#options.path} has images in use: ${users.join(", ")}`;
      throw new EngineError("FAILED_PRECONDITION", message, { hint: "stop the workloads that use them" });
    }
    await this.#medium.close();
    await this.leave();
  }

  async leave(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  async usage(): Promise<PoolUsage> {
    this.#requireOpen();
    // What is full has nothing made in it, and may not even be read.
    if (this.#medium.several && !(await this.writersSuspended())) await this.#count();
    return { ...(await this.#medium.room()), ...this.#ledger.promised };
  }

  async writersSuspended(): Promise<boolean> {
    return this.isOpen && (await this.#medium.suspended?.()) === true;
  }

  async watch(): Promise<void> {}

  holdsWriters(): boolean {
    return false;
  }

  /** What freezes a file system is around this: see `keptPool`. */
  async holdWriters(): Promise<void> {}

  async enlarge(size: number): Promise<void> {
    this.#requireOpen();
    await this.#medium.enlarge(size);
  }

  async list(): Promise<Image[]> {
    this.#requireOpen();
    return this.#images.list();
  }

  async find(id: string): Promise<Image | undefined> {
    this.#requireOpen();
    return this.#images.find(checkImageId(id));
  }

  async madeAt(image: Image): Promise<Date> {
    this.#requireOpen();
    return this.#images.madeAt(image);
  }

  async create(id: string, size: number, options: MakeOptions = {}): Promise<Image> {
    return this.#make(id, size, options, async (bytes) => ({
      blocks: options.thick ? bytes : 0,
      make: () => this.#images.create(id, bytes, options),
    }));
  }

  async clone(source: string, id: string, size: number, options: MakeOptions = {}): Promise<Image> {
    return this.#make(id, size, options, async (bytes) => {
      const from = await this.#present(source);
      requireRoom(from, bytes);
      return {
        blocks: await this.#copyCost(from, { size: bytes, thick: options.thick }),
        make: () => this.#images.clone(from, id, bytes, options),
      };
    });
  }

  async requestOf(id: string): Promise<string | undefined> {
    this.#requireOpen();
    return this.#images.requestOf(checkImageId(id));
  }

  async replace(source: string, id: string, size: number, options: ReplaceOptions = {}): Promise<Image> {
    this.#requireOpen();
    checkImageId(source);
    const { signal } = options;
    return this.#work.run(checkImageId(id), async () => {
      signal?.throwIfAborted();
      const from = await this.#images.find(source);
      if (from === undefined) throw new EngineError("NOT_FOUND", `there is no image ${source} to restore`);
      const bytes = Math.max(imageSize(size), from.size);
      const before = await this.#images.find(id);
      const { thick = false } = before ?? {};
      // Both are there for a while.
      const blocks = await this.#copyCost(from, { size: bytes, thick });
      await this.#reserve(id, { size: bytes, thick, blocks });
      try {
        return await this.#images.replace(from, id, bytes, options);
      } catch (error) {
        this.#ledger.correct(id, before);
        throw error;
      } finally {
        this.#ledger.settled(id);
      }
    });
  }

  /** Bytes that a copy takes: a thick one all of it, one of a thick image what that has. */
  async #copyCost(
    from: Image,
    { size, thick = false }: { size: number; thick?: boolean | undefined },
  ): Promise<number> {
    if (thick) return size;
    return from.thick ? ((await this.#thick?.written(from.path)) ?? 0) : 0;
  }

  async #make(
    id: string,
    size: number,
    { signal, thick = false, imageFeatures }: MakeOptions,
    prepare: (bytes: number) => Promise<{ blocks: number; make: () => Promise<Image> }>,
  ): Promise<Image> {
    this.#requireOpen();
    checkImageId(id);
    const bytes = imageSize(size);
    this.#requireThick(thick);
    this.#requireFeatured(imageFeatures !== undefined);
    return this.#work.run(id, async () => {
      signal?.throwIfAborted();
      const present = await this.#images.find(id);
      if (present !== undefined) return sameImage(present, bytes, thick);
      const { blocks, make } = await prepare(bytes);
      await this.#reserve(id, { size: bytes, thick, blocks });
      try {
        return await make();
      } catch (error) {
        if ((await this.#images.find(id)) === undefined) this.#ledger.correct(id, undefined);
        throw error;
      } finally {
        this.#ledger.settled(id);
      }
    });
  }

  #requireThick(thick: boolean): void {
    if (!thick || this.#thick !== undefined) return;
    throw new EngineError("INVALID_ARGUMENT", `a pool ${this.#medium.description} has no thick volumes`, {
      hint: "use a local pool of type xfs, or thin volumes",
    });
  }

  #requireFeatured(featured: boolean): void {
    if (!featured || this.#medium.featured === true) return;
    const message = `images of a pool ${this.#medium.description} have no features`;
    throw new EngineError("INVALID_ARGUMENT", message, { hint: "use a pool of type rbd, or leave them out" });
  }

  async preCopy(copies: readonly Copy[], signal?: AbortSignal): Promise<PreCopies> {
    this.#requireOpen();
    const usage = await this.usage();
    requireBudget(usage, this.#rules(usage), { promised: 0, thick: 0, blocks: 0 });
    const works = await Promise.all(
      copies.map(async (copy) => sized(copy, await this.#present(copy.source))),
    );
    return this.#copier.preCopy?.(works, signal) ?? { drop: async () => {} };
  }

  async beginCopy(copies: readonly Copy[], preCopies?: PreCopies): Promise<GroupCopy> {
    this.#requireOpen();
    const reserved: string[] = [];
    const giveBack = (): void => {
      for (const id of reserved.splice(0)) {
        this.#copying.delete(id);
        this.#ledger.correct(id, undefined);
      }
    };
    this.#requireThick(copies.some(({ thick }) => thick === true));
    this.#requireFeatured(copies.some(({ imageFeatures }) => imageFeatures !== undefined));
    try {
      const works = await Promise.all(copies.map((copy) => this.#sourceOf(copy)));
      for (const { id, size, from, thick = false } of works) {
        const blocks = await this.#copyCost(from, { size, thick });
        await this.#reserve(id, { size, thick, blocks });
        this.#copying.add(id);
        reserved.push(id);
      }
      const copying = await this.#copier.begin(works, preCopies);
      return {
        atomicity: this.#copier.atomicity,
        copy: () => copying.copy(),
        finish: async (signal) => {
          const images = await copying.finish(signal);
          for (const { id } of works) {
            this.#copying.delete(id);
            this.#ledger.settled(id);
          }
          return images;
        },
        abandon: async () => {
          await copying.abandon();
          for (const { id } of works) await this.#images.remove(id);
          giveBack();
        },
      };
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #sourceOf(copy: Copy): Promise<Work> {
    const [from, present] = await Promise.all([
      this.#present(copy.source),
      this.#images.find(checkImageId(copy.id)),
    ]);
    if (present !== undefined)
      throw new EngineError("ALREADY_EXISTS", `there is an image ${copy.id} already`);
    return sized(copy, from);
  }

  async #present(source: string): Promise<Image> {
    const image = await this.#images.find(checkImageId(source));
    if (image === undefined) throw new EngineError("NOT_FOUND", `there is no image ${source} to clone`);
    return image;
  }

  async #reserve(id: string, wanted: Parameters<Ledger["reserve"]>[1]): Promise<void> {
    const usage = await this.usage();
    this.#ledger.reserve(id, wanted, usage, this.#rules(usage));
  }

  #rules(usage: PoolUsage): BudgetRules {
    const { overcommit = DEFAULT_OVERCOMMIT, reserve } = this.#limits;
    return { overcommit, reserve: reserve ?? Math.floor(usage.totalBytes * DEFAULT_RESERVE_FRACTION) };
  }

  async grow(id: string, size: number): Promise<Image> {
    this.#requireOpen();
    const bytes = imageSize(size);
    return this.#work.run(checkImageId(id), async () => {
      const image = await this.#images.find(id);
      if (image === undefined) throw new EngineError("NOT_FOUND", `there is no image ${id}`);
      if (bytes <= image.size) return image;
      const { thick = false } = image;
      await this.#reserve(id, { size: bytes, thick, blocks: thick ? bytes - image.size : 0 });
      try {
        return await this.#images.grow(image, bytes);
      } catch (error) {
        this.#ledger.correct(id, image);
        throw error;
      } finally {
        this.#ledger.settled(id);
      }
    });
  }

  async renew(id: string, clients?: readonly string[]): Promise<void> {
    this.#requireOpen();
    await this.#work.run(checkImageId(id), async () => {
      const image = await this.#images.find(id);
      if (image !== undefined) await this.#images.renew(image, clients);
    });
  }

  async remove(id: string): Promise<void> {
    this.#requireOpen();
    await this.#work.run(checkImageId(id), async () => {
      await this.#images.remove(id);
      this.#ledger.correct(id, undefined);
    });
  }

  #requireOpen(): void {
    if (this.isOpen) return;
    throw new EngineError("UNAVAILABLE", `pool ${this.#options.path} is not open`);
  }
}
