import { EBUSY, EMLINK, ENOENT, ENOTEMPTY, LONG_MS, type RbdCommands } from "./commands.ts";
import { PoolFull } from "./fullness.ts";
import { inOtherGroup } from "./image-groups.ts";
import { goneName, isGone } from "./names.ts";
import { readInfo, readTrash } from "./rbd-info.ts";

/** A client that was killed counts for half a minute. */
const AGAIN_MS = 30_000;

/** `kept`: copies need it. `open`: a client has it open. `grouped`: somebody's RBD group has it. */
type End = "removed" | "missing" | "kept" | "open" | "grouped";
const ENDS: Readonly<Record<number, End>> = {
  0: "removed",
  [ENOENT]: "missing",
  [ENOTEMPTY]: "kept",
  [EBUSY]: "open",
  [EMLINK]: "grouped",
};

/**
 * Images that were removed. Each gets a name first by which it can be recognised: what somebody else has put into Ceph's trash stays
 * there. Then it goes into the trash, where Ceph keeps it for as long as copies need its data, and from there for good. Whatever a
 * killed process has left of that, the next one to open the pool finishes.
 */
export class RbdTrash {
  readonly #commands: RbdCommands;
  #emptying = false;
  #again: NodeJS.Timeout | undefined;

  constructor(commands: RbdCommands) {
    this.#commands = commands;
  }

  /** Nothing happens when there is no such image. */
  async put(name: string): Promise<void> {
    const commands = this.#commands;
    const info = await readInfo(commands, { name });
    if (info === undefined) return;
    const gone = goneName(name);
    const renamed = await unlessFull(commands.rbd(["rename", name, gone], { allow: [ENOENT] }));
    if (renamed instanceof PoolFull) return this.#removeFromFull(name, renamed);
    if (renamed.exitCode === ENOENT || !(await this.#move(gone))) return;
    if ((await this.#removeWithParents(info.id)) !== "grouped") return;
    await commands.rbd(["trash", "restore", "--image", name, info.id], { allow: [ENOENT] });
    throw inOtherGroup(name);
  }

  /** Finishes what was begun. Resolves when the names of the pool's images can be relied on; the trash is emptied after that. */
  async sweep(images: Iterable<string>): Promise<void> {
    for (const name of images) if (isGone(name)) await this.#move(name);
    this.#empty().catch(() => this.#later());
  }

  /** Nothing more is tried later. */
  stop(): void {
    clearTimeout(this.#again);
    this.#again = undefined;
  }

  /** False when it is gone for good already. */
  async #move(gone: string): Promise<boolean> {
    const moved = await unlessFull(this.#commands.rbd(["trash", "mv", gone], { allow: [ENOENT] }));
    if (!(moved instanceof PoolFull)) return true;
    await this.#removeFromFull(gone, moved);
    return false;
  }

  /** A full pool takes no record of a move into the trash, and lets removals through: they make room. */
  async #removeFromFull(name: string, full: PoolFull): Promise<void> {
    const commands = this.#commands;
    const info = await readInfo(commands, { name });
    if (info === undefined) return;
    const args = ["rm", "--no-progress", name];
    const { exitCode } = await commands.rbd(args, { limit: LONG_MS, allow: [ENOENT, ENOTEMPTY, EMLINK] });
    if (exitCode === EMLINK) throw inOtherGroup(name);
    // Copies need its data: it has to wait for the trash.
    if (exitCode === ENOTEMPTY || (await readInfo(commands, { name })) !== undefined) throw full;
    if (info.parent?.trash === true) await this.#removeWithParents(info.parent.id);
  }

  /** For good, with the images below that were kept for it only. */
  async #removeWithParents(id: string): Promise<End> {
    const parent = (await readInfo(this.#commands, { id }))?.parent;
    const end = await this.#remove(id);
    if (end === "open") this.#later();
    if ((end === "removed" || end === "missing") && parent?.trash === true)
      await this.#removeWithParents(parent.id);
    return end;
  }

  async #remove(id: string): Promise<End> {
    const { exitCode } = await this.#commands.rbd(["trash", "rm", "--no-progress", id], {
      limit: LONG_MS,
      allow: Object.keys(ENDS).map(Number),
    });
    return ENDS[Number(exitCode)] ?? "missing";
  }

  /** Removes all that nobody needs any more: of some that is only so when others have gone. */
  async #empty(): Promise<void> {
    if (this.#emptying) return;
    this.#emptying = true;
    try {
      const ends = new Set<End>(["removed"]);
      while (ends.has("removed")) {
        ends.clear();
        for (const { id, name } of await readTrash(this.#commands))
          if (isGone(name)) ends.add(await this.#remove(id));
      }
      if (ends.has("open")) this.#later();
    } finally {
      this.#emptying = false;
    }
  }

  #later(): void {
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      this.#empty().catch(() => this.#later());
    }, AGAIN_MS).unref();
  }
}

async function unlessFull<T>(work: Promise<T>): Promise<T | PoolFull> {
  return work.catch((error: unknown) => {
    if (error instanceof PoolFull) return error;
    throw error;
  });
}
