import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { bundleProgram } from "../testing/bundle-program.ts";

const command = promisify(execFile);
/** The smallest there is, rounded up. */
const BYTES = 128 * 1024 ** 2;

/** What takes away what a test has made, the last first. */
type Undo = (() => Promise<unknown>)[];

/** A file system that takes a new block for each that is written, also for one of a mapped file. */
async function btrfs(undo: Undo): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-btrfs-"));
  undo.push(() => rm(folder, { recursive: true }));
  const [image, target] = [join(folder, "disk.img"), join(folder, "disk")];
  await (await open(image, "w")).close();
  await truncate(image, BYTES);
  await command("mkfs.btrfs", ["--quiet", image]);
  await mkdir(target);
  await command("mount", ["-o", "loop", image, target]);
  undo.push(() => command("umount", [target]));
  return target;
}

/** Writes until nothing is left, in smaller and smaller pieces. */
async function fill(path: string): Promise<void> {
  const file = await open(path, "a");
  try {
    for (let piece = 1024 ** 2; piece >= 4096; piece /= 4) await writeWhile(file, Buffer.alloc(piece, 1));
  } finally {
    await file.close();
  }
}

async function writeWhile(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<void> {
  for (;;) {
    try {
      await file.write(piece);
      await file.datasync();
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
      return;
    }
  }
}

/** A process that has the store open; `ask` has it write an object of that name and read all. */
async function askedStore(undo: Undo, folder: string) {
  const program = await bundleProgram(new URL("../testing/asked-store.ts", import.meta.url));
  undo.push(program.remove);
  const child = spawn(process.execPath, [program.path, folder], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit").then(([code, signal]) => `ended with ${code ?? signal}`);
  const lines = createInterface({ input: child.stdout });
  const end = () => {
    child.stdin.end();
    return ended;
  };
  undo.push(end);
  const ask = (name: string): Promise<string> => {
    const line = once(lines, "line").then(([text]) => String(text));
    child.stdin.write(`${name}\n`);
    return Promise.race([line, ended]);
  };
  return { ask, end };
}

test("a store on btrfs is read on when its disk is full to the last block", async (t) => {
  assert.equal(process.getuid?.(), 0, "this test mounts a file system: run it as root");
  const undo: Undo = [];
  t.after(async () => {
    for (const step of undo.reverse()) await step();
  });
  const disk = await btrfs(undo);
  const { ask, end } = await askedStore(undo, join(disk, "store"));
  assert.equal(await ask("before"), "wrote 1");
  const filler = join(disk, "filler");
  await fill(filler);
  for (let time = 1; time <= 3; time++) {
    // What is written next is a new block again.
    await command("sync", ["--file-system", disk]);
    assert.equal(await ask(`full-${time}`), "refused 1", `time ${time}`);
  }
  await rm(filler);
  await command("sync", ["--file-system", disk]);
  assert.equal(await ask("after"), "wrote 2");
  assert.equal(await end(), "ended with 0");
});
