import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { EngineError } from "../errors.ts";
import type { Clock } from "../host/host.ts";

/** Our choice for flock(1)'s exit code when another process has the lock. */
const TAKEN = 75;
/** A predecessor that was just killed releases within milliseconds. */
const ATTEMPTS = 20;
const WAIT_MS = 100;

export interface PoolLock {
  /** False after the holder was killed by someone else: the pool must not be touched any more. */
  readonly held: boolean;
  release(): Promise<void>;
}

/**
 * One process per pool. The kernel keeps the lock (flock(2)) for a child that lives exactly as long as our end of its
 * input, so that it is free the moment we die, whatever the way, and no stale file has to be judged by pid or age.
 * Every image of the pool is under it: whoever has it may attach, clone and remove.
 */
export async function acquirePoolLock(path: string, clock: Clock): Promise<PoolLock> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const holder = await tryLock(path);
    if (holder !== undefined) {
      await writeFile(path, `${process.pid}\n`);
      return lockOf(holder);
    }
    await clock.sleep(WAIT_MS);
  }
  const owner = (await readFile(path, "utf8").catch(() => "")).trim();
  throw new EngineError(
    "FAILED_PRECONDITION",
    `the pool is in use by another process (${owner || "unknown"})`,
    {
      hint: "stop the other mooring process of this pool, or wait for it to end",
    },
  );
}

async function tryLock(path: string): Promise<ChildProcess | undefined> {
  const args = ["--exclusive", "--nonblock", "--conflict-exit-code", String(TAKEN), "--no-fork", path, "cat"];
  const child = spawn("flock", args, { detached: true, stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {});
  child.stdin.write("held\n");
  // The echo comes from the program that runs under the lock, so it proves that the lock is there.
  const echo = once(child.stdout, "data").then(() => "held" as const);
  const end = new Promise<number | Error>((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code) => resolve(code ?? -1));
  });
  const outcome = await Promise.race([echo.catch(() => end), end]);
  if (outcome === "held") return child;
  if (outcome === TAKEN) return undefined;
  throw new EngineError("INTERNAL", `cannot lock ${path}: flock ended with ${outcome}`);
}

function lockOf(child: ChildProcess): PoolLock {
  let held = true;
  const end = once(child, "exit").then(() => {
    held = false;
  });
  // The lock must not keep a process alive that has nothing else to do.
  for (const handle of [child, child.stdin, child.stdout]) {
    if (handle instanceof Socket || handle === child) handle.unref();
  }
  return {
    get held() {
      return held;
    },
    release: async () => {
      child.ref();
      child.stdin?.end();
      await end;
    },
  };
}
