import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, open, rm, rmdir, statfs, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What makes each kind of file system; ext4 keeps nothing for the administrator. */
const MAKE = {
  ext4: ["mkfs.ext4", "-q", "-m", "0", "-e", "remount-ro"],
  btrfs: ["mkfs.btrfs", "--quiet"],
} as const;

/** A file system of its own, on a loop device. */
export class SmallDisk {
  readonly folder: string;
  readonly #image: string;

  private constructor(folder: string, image: string) {
    this.folder = folder;
    this.#image = image;
  }

  /** `inodes`: how many an ext4 has, about. */
  static async create(
    mebibytes: number,
    kind: keyof typeof MAKE = "ext4",
    { inodes }: { inodes?: number } = {},
  ): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-disk-"));
    const image = `${folder}.img`;
    await writeFile(image, "");
    await truncate(image, mebibytes * 1024 ** 2);
    const [program, ...args] = MAKE[kind];
    await run(program, [...args, ...(inodes === undefined ? [] : ["-N", String(inodes)]), image]);
    const disk = new SmallDisk(folder, image);
    await disk.#mount();
    return disk;
  }

  get #filler(): string {
    return join(this.folder, "filler");
  }

  async #mount(): Promise<void> {
    await run("mount", ["-o", "loop", this.#image, this.folder]);
  }

  /** An error of the ext4 in it, after which it takes no write, as `errors=remount-ro` has it. */
  async fail(): Promise<void> {
    const { stdout } = await run("findmnt", ["-n", "-o", "SOURCE", this.folder]);
    await writeFile(`/sys/fs/ext4/${basename(stdout.trim())}/trigger_fs_error`, "1");
  }

  /** What an operator does about that. Nothing may use it. */
  async repair(): Promise<void> {
    await run("umount", [this.folder]);
    await run("fsck.ext4", ["-f", "-p", this.#image]).catch((error: { code?: unknown }) => {
      // It has corrected what it found.
      if (error.code !== 1) throw error;
    });
    await this.#mount();
  }

  /** To the last inode. */
  async takeInodes(): Promise<void> {
    await mkdir(this.#files, { recursive: true }).catch(() => {});
    try {
      for (;;) await writeFile(join(this.#files, randomUUID()), "");
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }

  async freeInodes(): Promise<void> {
    await rm(this.#files, { recursive: true, force: true });
  }

  get #files(): string {
    return join(this.folder, "files");
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
