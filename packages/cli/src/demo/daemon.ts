import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** A `mooring up` of the demo's own, on a state folder of its own. */
export interface Daemon {
  pid: number;
  stateDir: string;
  kubeconfig: string;
  /** SIGTERM, then waits for its end; resolves with its exit code. */
  stop(): Promise<number>;
  /** Removes the state folder. */
  erase(): Promise<void>;
}

const READY_WITHIN_MS = 60_000;

async function isReady(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    () => false,
  );
}

async function waitReady(
  child: ChildProcess,
  { readyFile, log, signal }: { readyFile: string; log: string; signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (!(await isReady(readyFile))) {
    signal.throwIfAborted();
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      const tail = (await readFile(log, "utf8")).trimEnd().split("\n").slice(-5).join("\n");
      throw new CommandError(`the standalone server did not become ready:\n${tail}`, {
        next: `read ${log}, and run \`mooring doctor\``,
        exitCode: EXIT.negative,
      });
    }
    await sleep(20);
  }
}

/** Starts this very command again with `up`, detached, its output in a log file. */
export async function startDaemon(pool: string, signal: AbortSignal): Promise<Daemon> {
  const stateDir = await mkdtemp(join(tmpdir(), "mooring-demo-"));
  const log = join(stateDir, "up.log");
  const readyFile = join(stateDir, "ready");
  const [, script = ""] = process.argv;
  const child = spawn(
    process.execPath,
    [
      script,
      "up",
      "--state-dir",
      stateDir,
      "--pool",
      pool,
      "--pool-size",
      "8Gi",
      "--listen",
      "127.0.0.1:0",
      "--ready-file",
      readyFile,
    ],
    { detached: true, stdio: ["ignore", "pipe", "pipe"] },
  );
  const out = createWriteStream(log);
  child.stdout.pipe(out);
  child.stderr.pipe(out);
  const ended = new Promise<number>((resolve) => {
    child.on("exit", (code) => resolve(code ?? 1));
  });
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  const erase = () => rm(stateDir, { recursive: true, force: true });
  // It would run on by itself. Its folder stays, with the log that the error names.
  await waitReady(child, { readyFile, log, signal }).catch(async (error: unknown) => {
    await stop();
    if (signal.aborted) await erase();
    throw error;
  });
  return {
    pid: child.pid ?? 0,
    stateDir,
    kubeconfig: join(stateDir, "kubeconfig"),
    stop,
    erase,
  };
}
