import { rm } from "node:fs/promises";
import { failpoint } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { Copier } from "../host/filesystem/copier.ts";
import { writeSparse } from "./durable.ts";
import type { Image } from "./image.ts";

const begun = failpoint("engine/group-snapshot/pre-copy-begun");
const followed = failpoint("engine/group-snapshot/pre-copy-close");

/** An image in fewer pieces is cloned in some 20 ms, so that a pre-copy of it would gain nothing. */
const WORTH_IT = 512;
/** Near enough: so many pieces are left for the moment that counts. */
const NEAR = 256;
/** An image that is rewritten faster than it is cloned is not caught up with. */
const ROUNDS = 5;

/**
 * A clone of an image that has been made for the most part before the moment at which it has to be of: a clone takes 30
 * to 45 microseconds per fragment, and only what has changed since is cloned again. It has no name of its own yet;
 * leftovers of a kill are temporary files as others.
 */
export class PreCopy {
  /** The copy's temporary file. */
  readonly path: string;
  #copier: Copier | undefined;

  private constructor(path: string, copier: Copier | undefined) {
    this.path = path;
    this.#copier = copier;
  }

  /**
   * Undefined: a clone takes no time, or a pre-copy cannot be made, so that a whole one has to do. The image may be
   * written to. Throws RESOURCE_EXHAUSTED when the pool is full.
   */
  static async begin(image: Image, path: string, signal?: AbortSignal): Promise<PreCopy | undefined> {
    signal?.throwIfAborted();
    await writeSparse(path, image.size);
    const copier = await Copier.start(image.path, path).catch(() => undefined);
    const copy = new PreCopy(path, copier);
    const stop = (): void => void copier?.close();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      begun();
      if (copier !== undefined && (await copier.fragments()) >= WORTH_IT) {
        await copy.#follow(copier, image.size);
        return copy;
      }
    } catch (error) {
      await copy.drop();
      signal?.throwIfAborted();
      if (error instanceof EngineError && error.code === "RESOURCE_EXHAUSTED") throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
    await copy.drop();
    return undefined;
  }

  async #follow(copier: Copier, size: number): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) if ((await copier.follow(size)) < NEAR) break;
    followed();
  }

  /**
   * The last thing before the writers come to a stop. The image may be another file than before, after a restore:
   * the copy is compared with what it has now.
   */
  async arm(image: Image): Promise<void> {
    await this.#copier?.close();
    const copier = await Copier.start(image.path, this.path);
    this.#copier = copier;
    await this.#follow(copier, image.size);
    await copier.arm(image.size);
  }

  /** Makes it the same as the image, to which no process may write from before to after it. */
  async finish(): Promise<void> {
    await this.#copier?.finish();
    await this.#copier?.close();
  }

  /** Removes it; more than once is fine. */
  async drop(): Promise<void> {
    await this.#copier?.close();
    await rm(this.path, { force: true });
  }
}
