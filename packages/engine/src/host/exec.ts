import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined, within } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { debianPackageOf } from "./debian-packages.ts";
import type { Exec, ExecOptions, ExecResult } from "./host.ts";
import { OutputTail } from "./output-tail.ts";
import { StartError } from "./spawner.ts";
import { Spawners } from "./spawners.ts";

const OUTPUT_LIMIT = 1024 * 1024;
/** How long pipes may stay open after the child has ended: a helper that went to the background keeps them for ever. */
const DRAIN_MS = 100;
const KILL_AFTER_MS = 2000;

/** Runs programs on this machine. Each gets its own process group, so that a cancelled one takes its children along. */
export function createExec(spawners: Spawners = new Spawners()): Exec {
  const runChild: Exec["try"] = async (file, args, options = {}) => {
    options.signal?.throwIfAborted();
    const spawner = spawners.take(options.inherit ?? [], options.endsWithUs);
    if (spawner === undefined) return runOwnChild(file, args, options);
    return spawner.run(file, args, options).catch((error: unknown) => {
      throw error instanceof StartError ? cannotStart(file, options, error) : error;
    });
  };
  return {
    try: runChild,
    run: async (file, args, options) => {
      const result = await runChild(file, args, options);
      if (result.exitCode !== 0) throw commandFailed(file, args, result);
      return result;
    },
  };
}

/** The same, for commands that are to keep files open that are asked for anew each time. */
export function inheriting(exec: Exec, files: () => readonly number[]): Exec {
  const withFiles = (options: ExecOptions = {}): ExecOptions => ({ ...options, inherit: files() });
  return {
    try: (file, args, options) => exec.try(file, args, withFiles(options)),
    run: (file, args, options) => exec.run(file, args, withFiles(options)),
  };
}

/** The same with a time limit for every command: a tool that spins must not block its caller for ever. */
export function limited(exec: Exec, milliseconds: number): Exec {
  const named = async (
    file: string,
    options: ExecOptions,
    work: (options: ExecOptions) => Promise<ExecResult>,
  ): Promise<ExecResult> => {
    try {
      return await within(milliseconds, options.signal, (signal) => work({ ...options, signal }));
    } catch (error) {
      const late = error instanceof DOMException && error.name === "TimeoutError";
      // The caller's own time may be over instead.
      if (!late || options.signal?.aborted) throw error;
      const message = `${file} did not end within ${milliseconds} ms`;
      throw new EngineError("DEADLINE_EXCEEDED", message, { cause: error });
    }
  };
  return {
    try: (file, args, options = {}) => named(file, options, (limit) => exec.try(file, args, limit)),
    run: (file, args, options = {}) => named(file, options, (limit) => exec.run(file, args, limit)),
  };
}

function runOwnChild(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
  return options.uninterruptible ? runDetached(file, args, options) : runPiped(file, args, options);
}

async function runPiped(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
  const child = start(file, args, options, { stdout: "pipe", stderr: "pipe" });
  const stdout = new OutputTail(OUTPUT_LIMIT);
  const stderr = new OutputTail(OUTPUT_LIMIT);
  if (child.stdout) stdout.follow(child.stdout);
  if (child.stderr) stderr.follow(child.stderr);
  const stopKilling = killOnAbort(child, options.signal);
  try {
    const end = await ended(child, file, options);
    await drained(child);
    options.signal?.throwIfAborted();
    return { ...end, stdout: stdout.toString(), stderr: stderr.toString() };
  } finally {
    stopKilling();
  }
}

/**
 * mkfs, fsck and resize must finish even when this process is killed in the middle. Their output therefore goes to
 * files: a pipe without a reader would end them with SIGPIPE half-way.
 */
async function runDetached(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
  const out = await namelessFile();
  const err = await namelessFile();
  try {
    const end = await ended(start(file, args, options, { stdout: out.fd, stderr: err.fd }), file, options);
    return { ...end, stdout: await tailOf(out), stderr: await tailOf(err) };
  } finally {
    await out.close();
    await err.close();
  }
}

function start(
  file: string,
  args: readonly string[],
  options: ExecOptions,
  { stdout, stderr }: { stdout: "pipe" | number; stderr: "pipe" | number },
): ChildProcess {
  const child = spawn(file, args, {
    detached: true,
    stdio: [options.input === undefined ? "ignore" : "pipe", stdout, stderr, ...(options.inherit ?? [])],
    env: { ...process.env, LC_ALL: "C", ...options.env },
    ...defined({ cwd: options.cwd }),
  });
  // A child that ends without reading its input is no error of ours.
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input);
  return child;
}

function ended(
  child: ChildProcess,
  file: string,
  options: ExecOptions,
): Promise<Pick<ExecResult, "exitCode" | "signal">> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(cannotStart(file, options, error)));
    child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
  });
}

/** `close` comes only when every process with the pipes open is gone, so it is not waited for longer than a moment. */
function drained(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve();
    };
    const timer = setTimeout(done, DRAIN_MS);
    child.once("close", done);
    if (child.stdout?.closed && child.stderr?.closed) done();
  });
}

function killOnAbort(child: ChildProcess, signal: AbortSignal | undefined): () => void {
  let hard: NodeJS.Timeout | undefined;
  const kill = (): void => {
    killGroup(child, "SIGTERM");
    hard = setTimeout(() => killGroup(child, "SIGKILL"), KILL_AFTER_MS);
  };
  signal?.addEventListener("abort", kill, { once: true });
  return () => {
    clearTimeout(hard);
    signal?.removeEventListener("abort", kill);
  };
}

function killGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group is gone: that is what was wanted.
  }
}

async function namelessFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `mooring-output-${randomUUID()}`);
  const handle = await open(path, "wx+", 0o600);
  await unlink(path);
  return handle;
}

async function tailOf(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const length = Math.min(size, OUTPUT_LIMIT);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead).toString("utf8");
}

/** Why a program did not start, as the error that `run` throws: what is missing, and the package that has it. */
export function cannotStart(file: string, options: Pick<ExecOptions, "cwd">, cause: Error): EngineError {
  const missing = "code" in cause && cause.code === "ENOENT" && options.cwd === undefined;
  if (!missing) return new EngineError("INTERNAL", `cannot start ${file}: ${cause.message}`, { cause });
  const pkg = debianPackageOf(file);
  const hint = pkg === undefined ? `install ${file}` : `install it: apt-get install ${pkg}`;
  return new EngineError("FAILED_PRECONDITION", `${file} is not installed on this machine`, { hint, cause });
}

const SENT: ReadonlySet<string | null> = new Set(["SIGHUP", "SIGINT", "SIGKILL", "SIGTERM"]);

/**
 * True when another process has ended the program, or the kernel for want of memory: it has found nothing about what it
 * worked on. One that crashes may do so because of that.
 */
export function wasEnded({ exitCode, signal }: ExecResult): boolean {
  return exitCode === null && SENT.has(signal);
}

/** The error that `run` throws; for callers of `try` that have checked the exit code themselves. */
export function commandFailed(file: string, args: readonly string[], result: ExecResult): EngineError {
  const how =
    result.exitCode === null ? `was ended by ${result.signal}` : `failed with exit code ${result.exitCode}`;
  const output = lastLines(result.stderr) || lastLines(result.stdout);
  return new EngineError(
    "INTERNAL",
    `${[file, ...args].join(" ")} ${how}${output === "" ? "" : `: ${output}`}`,
  );
}

function lastLines(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines
    .filter((line) => line !== "")
    .slice(-3)
    .join("; ");
}
