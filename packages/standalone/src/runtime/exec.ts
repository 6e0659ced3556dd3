import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { timerMs } from "@mooring/store";
import { RUNC } from "./runc.ts";
import type { ExecResult } from "./runtime.ts";
import { readProcess } from "./write-bundle.ts";

const KEEP_BYTES = 16 * 1024;
/** A program that writes without end, for as long as its probe may take, does not keep our thread busy: so much is read at once. */
const READ_BYTES = 1024 * 1024;
const REST_MS = 100;

/** Joins the group, where runc does not, so that what a probe leaves behind is found like everything else of the container. */
export const JOIN_GROUP = `[ -z "$MOORING_CGROUP" ] || echo 0 >"$MOORING_CGROUP/cgroup.procs" && unset MOORING_CGROUP && exec "$@"`;

/** A running container, as runc's command line names it. */
export interface ExecTarget {
  id: string;
  /** Folder of the control group to join; empty: runc does that. */
  cgroup: string;
  /** `--root` of runc. */
  root: string;
  bundle: string;
}

/** Runs a program in a running container, with no more rights than the container's own program was given. */
export async function execInContainer(
  target: ExecTarget,
  argv: readonly string[],
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<ExecResult> {
  const name = join(target.bundle, `exec-${randomUUID()}`);
  const files = { process: `${name}.json`, pid: `${name}.pid` };
  const own = { ...(await readProcess(target.bundle)), args: argv };
  await writeFile(files.process, JSON.stringify(own), { mode: 0o600 });
  try {
    return await run(start(target, files), files.pid, options);
  } finally {
    for (const file of Object.values(files)) await rm(file, { force: true });
  }
}

type Running = ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream };

function start({ id, cgroup, root }: ExecTarget, files: { process: string; pid: string }): Running {
  const command = [RUNC, "--root", root, "exec", "--process", files.process, "--pid-file", files.pid, id];
  return spawn("/bin/sh", ["-c", JOIN_GROUP, "mooring-exec", ...command], {
    detached: true,
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", MOORING_CGROUP: cgroup },
  });
}

async function run(
  child: Running,
  pidFile: string,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<ExecResult> {
  const output = readEnds([child.stdout, child.stderr]);
  let timedOut = false;
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= endAll(child, pidFile);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, timerMs(timeoutMs));
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      // Not "close": a grandchild may keep the pipe open for ever.
      child.once("exit", (code) => resolve(code ?? 137));
    });
    await output.rest();
    await ending;
    // runc writes it once the program has started, and before it waits for its end.
    const started = exitCode === 0 || (await stat(pidFile).catch(() => undefined)) !== undefined;
    return { exitCode, started, output: output.text(), timedOut };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    for (const stream of [child.stdout, child.stderr] as unknown as { destroy(): void }[]) stream.destroy();
  }
}

/** The ends of what these bring, as fast as is good for others. `rest`: resolves when what is in them by now has been read. */
function readEnds(streams: readonly NodeJS.ReadableStream[]): { text(): string; rest(): Promise<void> } {
  let kept = Buffer.alloc(0);
  let left = READ_BYTES;
  let timer: NodeJS.Timeout | undefined;
  const goOn = () => {
    timer = undefined;
    left = READ_BYTES;
    for (const stream of streams) stream.resume();
  };
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk]).subarray(-KEEP_BYTES);
      left -= chunk.length;
      if (left > 0 || timer !== undefined) return;
      for (const each of streams) each.pause();
      timer = setTimeout(goOn, REST_MS).unref();
    });
  }
  return {
    text: () => kept.toString("utf8"),
    rest: async () => {
      clearTimeout(timer);
      goOn();
      // What the pipes hold comes with the next turn of the loop, and is seen at its end.
      for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    },
  };
}

/**
 * runc, what it has started and what that has started. Each is stopped before its children are read, so that none is missed:
 * runc writes down the program's pid some time after the program has begun. What has left the family is in the pid file's group.
 */
export async function endAll(child: ChildProcess, pidFile: string): Promise<void> {
  const family = await stopFamily(child.pid);
  killGroup(child.pid);
  for (const pid of family) signal(pid, "SIGKILL");
  killGroup(Number(await readFile(pidFile, "utf8").catch(() => "0")));
}

async function stopFamily(first: number | undefined): Promise<number[]> {
  const family: number[] = [];
  const next = first === undefined ? [] : [first];
  for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
    if (!signal(pid, "SIGSTOP")) continue;
    family.push(pid);
    next.push(...(await childrenOf(pid)));
  }
  return family;
}

async function childrenOf(pid: number): Promise<number[]> {
  const folder = `/proc/${pid}/task`;
  const threads = await readdir(folder).catch(() => []);
  const lists = threads.map((thread) => readFile(`${folder}/${thread}/children`, "utf8").catch(() => ""));
  return (await Promise.all(lists)).flatMap((list) => list.split(" ").filter(Boolean).map(Number));
}

/** A program that runc starts leads a group of its own. */
function killGroup(pid: number | undefined): void {
  if (pid !== undefined && pid > 0) signal(-pid, "SIGKILL");
}

/** False: it has ended. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
