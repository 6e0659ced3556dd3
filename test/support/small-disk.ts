import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, rmdir, statfs, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What makes each kind of file system; ext4 keeps nothing for the administrator. */
const MAKE = { ext4: ["mkfs.ext4", "-q", "-m", "0"], btrfs: ["mkfs.btrfs", "--quiet"] } as const;

/** A file system of its own, on a loop device. */
export class SmallDisk {
  readonly folder: string;
  readonly #image: string;

  private constructor(folder: string, image: string) {
    this.folder = folder;
    this.#image = image;
  }

  static async create(mebibytes: number, kind: keyof typeof MAKE = "ext4"): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-disk-"));
    const image = `${folder}.img`;
    await writeFile(image, "");
    await truncate(image, mebibytes * 1024 ** 2);
    const [program, ...args] = MAKE[kind];
    await run(program, [...args, image]);
    await run("mount", ["-o", "loop", image, folder]);
    return new SmallDisk(folder, image);
  }

  get #filler(): string {
    return join(this.folder, "filler");
  }

  /** Takes all but so much of what is free. */
  async fill(leftMebibytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.folder);
    const bytes = bavail * bsize - leftMebibytes * 1024 ** 2;
    await run("fallocate", ["-l", String(bytes), this.#filler]);
  }

  /** To the last block, which something else may free again. What btrfs has free is certain once it has written all. */
  async fillUp(): Promise<void> {
    await this.fill(1).catch(() => {});
    for (let time = 1; time <= 3; time++) {
      await this.#fillOnce();
      await run("sync", ["--file-system", this.folder]);
    }
  }

  async #fillOnce(): Promise<void> {
    const filler = await open(this.#filler, "a");
    try {
      for (;;) await filler.write(Buffer.alloc(4096));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    } finally {
      await filler.close().catch(() => {});
    }
  }

  async makeRoom(): Promise<void> {
    await rm(this.#filler, { force: true });
  }

  async dispose(): Promise<void> {
    await run("umount", [this.folder]);
    await rmdir(this.folder);
    await rm(this.#image);
  }
}
