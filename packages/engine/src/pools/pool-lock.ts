import { spawn } from "node:child_process";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { requireKind } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { cannotStart } from "../host/exec.ts";
import type { Clock, Host } from "../host/host.ts";

/** Our choice for flock(1)'s exit code when another process has the lock. */
const TAKEN = 75;
/** Commands that a killed predecessor had under way end within this time. */
const PATIENCE_MS = 10_000;
const WAIT_MS = 100;

/** A pool that no other process opens meanwhile. */
export interface PoolLock {
  release(): Promise<void>;
}

/**
 * One process per pool, under flock(2): the process that has it may attach, clone and remove the pool's images. The kernel
 * frees it the moment we die, whatever the way, so that no stale file has to be recognised by pid or age. flock(1) takes
 * the lock on a file that we have open, and leaves it to us.
 *
 * Mount and loop commands inherit the file (`Host.inherit`): an umount or losetup that a killed process has left behind
 * keeps the lock until it has ended, and so cannot pull a device from under the next process.
 */
export async function acquirePoolLock(path: string, host: Host): Promise<PoolLock> {
  requireKind({ path, kind: "file", hint: "move it away: it is made anew" });
  const file = await open(path, "a+", 0o600);
  try {
    await lock(file, path, host.clock);
    await file.truncate(0);
    await file.write(`${process.pid}\n`);
  } catch (error) {
    await file.close();
    throw error;
  }
  const disinherit = host.inherit?.(file.fd);
  return {
    release: async () => {
      await disinherit?.();
      await file.close();
    },
  };
}

async function lock(file: FileHandle, path: string, clock: Clock): Promise<void> {
  const deadline = clock.sinceBoot() + PATIENCE_MS;
  while (!(await tryLock(file, path))) {
    const owner = await ownerOf(file);
    // A live owner will not end soon; only what a dead one has left behind is waited for.
    if (isAlive(owner) || clock.sinceBoot() > deadline) throw taken(path, owner);
    await clock.sleep(WAIT_MS);
  }
}

async function tryLock(file: FileHandle, path: string): Promise<boolean> {
  const args = ["--exclusive", "--nonblock", "--conflict-exit-code", String(TAKEN), "3"];
  const child = spawn("flock", args, { stdio: ["ignore", "ignore", "ignore", file.fd] });
  const end = await new Promise<number | string>((resolve, reject) => {
    child.once("error", (error) => reject(cannotStart("flock", {}, error)));
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });
  if (end === 0 || end === TAKEN) return end === 0;
  throw new EngineError("INTERNAL", `cannot lock ${path}: flock ended with ${end}`);
}

async function ownerOf(file: FileHandle): Promise<number | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0);
  const pid = Number.parseInt(buffer.subarray(0, bytesRead).toString(), 10);
  return pid > 0 ? pid : undefined;
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function taken(path: string, owner: number | undefined): EngineError {
  const message = `the pool in ${dirname(path)} is in use by another process (${owner ?? "unknown"})`;
  return new EngineError("FAILED_PRECONDITION", message, {
    hint: "stop the other mooring process of this pool, or wait for it to end",
  });
}
