import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";

export const BLOCK = 4096;
export const SLOTS = 256;
export const MAGIC: Buffer = Buffer.from("ordered!");

/** A file of slots, all on disk, so that writing them later changes no metadata. */
export async function layOut(path: string): Promise<void> {
  const file = await open(path, "a+");
  await file.close();
  const handle = await open(path, "r+");
  await handle.write(Buffer.alloc(BLOCK * SLOTS, 1), 0, BLOCK * SLOTS, 0);
  await handle.sync();
  await handle.close();
}

/** What an image has of the writer's blocks: the largest number, and that no earlier one is missing or torn. */
export async function lastNumber(image: string): Promise<number> {
  const numbers = new Set<number>();
  const handle = await open(image, "r");
  const chunk = Buffer.alloc(BLOCK * 256);
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length);
    if (bytesRead === 0) break;
    for (let at = 0; at < bytesRead; at += BLOCK) {
      if (MAGIC.compare(chunk, at, at + MAGIC.length) !== 0) continue;
      const number = chunk.readUInt32LE(at + MAGIC.length);
      assert.equal(chunk.readUInt32LE(at + BLOCK - 4), number, "a torn block");
      numbers.add(number);
    }
  }
  await handle.close();
  const last = Math.max(0, ...numbers);
  for (let number = last; number > Math.max(0, last - SLOTS); number--) {
    assert.ok(numbers.has(number), `${image} has ${last}, but not ${number}`);
  }
  return last;
}

/** Throws unless the images, in the order of the writer's files, are of one moment. */
export async function requirePrefix(images: readonly string[], acknowledged: number): Promise<void> {
  const last = await Promise.all(images.map(lastNumber));
  for (const [index, number] of last.slice(1).entries()) {
    const before = last[index] ?? 0;
    assert.ok(number <= before && before <= number + 1, `not one moment: ${last.join(" ")}`);
  }
  assert.ok(
    (last.at(-1) ?? 0) >= acknowledged,
    `${acknowledged} was acknowledged, but there is ${last.join(" ")}`,
  );
}

export interface Writer {
  /** The last number that all files have. */
  acknowledged(): number;
  /** Resolves when more has been written than when it was called. */
  goesOn(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the writer; `cgroup`: a control group for it. */
export async function startWriter(
  program: string,
  files: readonly string[],
  cgroup?: string,
): Promise<Writer> {
  const join = cgroup === undefined ? "" : `echo $$ >${cgroup}/cgroup.procs && `;
  const child: ChildProcess = spawn(
    "sh",
    ["-c", `${join}exec "$@"`, "sh", process.execPath, program, ...files],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let last = 0;
  const watchers = new Set<() => void>();
  if (child.stdout === null) throw new Error("no output");
  createInterface({ input: child.stdout }).on("line", (line) => {
    last = Number(line.slice(4));
    for (const watcher of watchers) watcher();
  });
  const goesOn = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const from = last;
      const timer = setTimeout(() => reject(new Error(`the writer stands still at ${from}`)), 60_000);
      const check = (): void => {
        if (last <= from) return;
        clearTimeout(timer);
        watchers.delete(check);
        resolve();
      };
      watchers.add(check);
    });
  await goesOn();
  return {
    acknowledged: () => last,
    goesOn,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}
