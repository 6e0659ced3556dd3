import type { MakeOptions } from "../backend.ts";
import { ENOENT, LONG_MS, type RbdCommands } from "./commands.ts";
import { featureArguments } from "./features.ts";
import { newName } from "./names.ts";
import { type RbdInfo, readInfo } from "./rbd-info.ts";

/** How copies are made. */
export interface RbdCopiesOptions {
  commands: RbdCommands;
  /** This node: only what it left half-made is removed by it. */
  maker: string;
  /** Most images below a copy. */
  depth: number;
}

/** A moment of an image: from it a copy can be made, until it is given up. */
export interface TakenSnapshot {
  source: RbdInfo;
  /** Name of the snapshot, and of the copy before it is whole. */
  name: string;
}

/**
 * Copies by snapshot and clone. The snapshot goes as soon as its clone is there: Ceph keeps what the clone needs of it, and
 * of an image that was removed, for as long as there is a clone.
 */
export class RbdCopies {
  readonly #options: RbdCopiesOptions;

  constructor(options: RbdCopiesOptions) {
    this.#options = options;
  }

  /** Fixes what a copy will have. One command, whatever is written meanwhile. */
  async take(source: RbdInfo, id: string): Promise<TakenSnapshot> {
    const name = newName(this.#options.maker, id);
    await this.#options.commands.rbd(["snap", "create", "--no-progress", `${source.name}@${name}`]);
    return { source, name };
  }

  /** The copy, under the name of its snapshot. `size`: at least the source's. */
  async make(
    { source, name }: TakenSnapshot,
    size: number,
    { signal, imageFeatures }: Pick<MakeOptions, "signal" | "imageFeatures"> = {},
  ): Promise<string> {
    const { commands, depth } = this.#options;
    // Without the argument it has its source's.
    const clone = [
      "clone",
      ...commands.destination,
      ...featureArguments(imageFeatures),
      `${source.name}@${name}`,
      name,
    ];
    await commands.rbd(clone, { signal });
    if ((await this.#below(source)) >= depth)
      await commands.rbd(["flatten", "--no-progress", name], { signal, limit: LONG_MS });
    if (size > source.size) await this.resize(name, size);
    return name;
  }

  /** Only ever larger. */
  async resize(name: string, size: number): Promise<void> {
    await this.#options.commands.rbd(["resize", "--no-progress", "--size", `${size}B`, name]);
  }

  /** The snapshot itself; nothing is left of it when no copy was made. */
  async giveUp({ source, name }: TakenSnapshot): Promise<void> {
    const args = ["snap", "rm", "--no-progress", `${source.name}@${name}`];
    await this.#options.commands.rbd(args, { allow: [ENOENT] });
  }

  /** Images below one, as far as that matters. */
  async #below(image: RbdInfo): Promise<number> {
    const { commands, depth } = this.#options;
    let count = 0;
    for (let at: RbdInfo | undefined = image; at?.parent !== undefined && count < depth; count++)
      at = await readInfo(commands, { id: at.parent.id });
    return count;
  }
}
