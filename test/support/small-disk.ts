import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, rmdir, statfs, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** An ext4 file system of its own, on a loop device. */
export class SmallDisk {
  readonly folder: string;
  readonly #image: string;

  private constructor(folder: string, image: string) {
    this.folder = folder;
    this.#image = image;
  }

  static async create(mebibytes: number): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-disk-"));
    const image = `${folder}.img`;
    await writeFile(image, "");
    await truncate(image, mebibytes * 1024 ** 2);
    await run("mkfs.ext4", ["-q", "-m", "0", image]);
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

  /** To the last block, which something else may free again. */
  async fillUp(): Promise<void> {
    await this.fill(1).catch(() => {});
    const filler = await open(this.#filler, "a");
    try {
      for (;;) await filler.write(Buffer.alloc(4096));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    } finally {
      await filler.close();
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
