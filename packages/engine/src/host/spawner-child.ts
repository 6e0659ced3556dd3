import type { ChildProcess } from "node:child_process";

interface SpawnRequest {
  id: number;
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Base64. */
  input?: string;
  /** Descriptors of the spawner that the program gets, from 3 on. */
  inherit: readonly number[];
  uninterruptible: boolean;
  endsWithUs: boolean;
}

/** What the process sends to its spawner. */
export type SpawnerOrder =
  | { run: SpawnRequest }
  | { kill: number; signal: NodeJS.Signals }
  /** Lets a descriptor go. */
  | { close: number };

/** What the spawner responds. */
export type SpawnerReply =
  | { id: number; exitCode: number | null; signal: string | null; stdout: string; stderr: string }
  | { id: number; failed: string; code?: string }
  | { closed: number };

/*
 * The functions below are the program of the spawner process. It runs from their text (`node -e`), so that source and
 * bundle need no file for it; therefore they use nothing but themselves and what they are given.
 */

interface SpawnerState {
  spawn: typeof import("node:child_process").spawn;
  fs: typeof import("node:fs");
  /** Where output without a name begins. */
  newFile(): string;
  /** So many bytes are kept of a program's output, its end. */
  limit: number;
  running: Map<number, ChildProcess>;
  /** Those of them that are killed when the parent has ended. */
  endingWithParent: Set<number>;
}

/** Of one program. */
interface ProgramOutput {
  /** Standard output and standard error. */
  texts: (() => string)[];
  release(): void;
}

function reply(message: SpawnerReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** A pipe without a reader would end mkfs half-way, should we be killed: its output goes to files without a name. */
function openNameless({ fs, newFile }: SpawnerState): number {
  const path = newFile();
  const fd = fs.openSync(path, "wx+", 0o600);
  fs.unlinkSync(path);
  return fd;
}

function tailOfFile({ fs, limit }: SpawnerState, fd: number): string {
  const { size } = fs.fstatSync(fd);
  const length = Math.min(size, limit);
  const buffer = Buffer.alloc(length);
  const read = fs.readSync(fd, buffer, 0, length, size - length);
  return buffer.subarray(0, read).toString("utf8");
}

function tailOfStream({ limit }: SpawnerState, stream: NodeJS.ReadableStream | null): () => string {
  let tail = Buffer.alloc(0);
  stream?.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-limit);
  });
  stream?.on("error", () => {});
  return () => tail.toString("utf8");
}

/** Starts it and reports how it went, once. */
function runProgram(state: SpawnerState, request: SpawnRequest): void {
  const files: number[] = [];
  const release = (): void => {
    for (const fd of files) state.fs.closeSync(fd);
  };
  try {
    // One after the other: where the second cannot be made, the first is released.
    if (request.uninterruptible) for (let index = 0; index < 2; index++) files.push(openNameless(state));
    const child = state.spawn(request.file, request.args, {
      detached: true,
      stdio: [
        request.input === undefined ? "ignore" : "pipe",
        ...(request.uninterruptible ? files : (["pipe", "pipe"] as const)),
        ...request.inherit,
      ],
      env: request.env,
      ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
    });
    if (request.endsWithUs) state.endingWithParent.add(request.id);
    child.stdin?.on("error", () => {});
    child.stdin?.end(Buffer.from(request.input ?? "", "base64"));
    const texts = request.uninterruptible
      ? files.map((fd) => () => tailOfFile(state, fd))
      : [tailOfStream(state, child.stdout), tailOfStream(state, child.stderr)];
    watchProgram(state, request.id, child, { texts, release });
  } catch (error) {
    release();
    reply({ id: request.id, failed: error instanceof Error ? error.message : String(error) });
  }
}

/** False: it is forgotten already. */
function forgetProgram({ running, endingWithParent }: SpawnerState, id: number): boolean {
  endingWithParent.delete(id);
  return running.delete(id);
}

function watchProgram(state: SpawnerState, id: number, child: ChildProcess, output: ProgramOutput): void {
  state.running.set(id, child);
  child.once("error", (error: NodeJS.ErrnoException) => {
    if (!forgetProgram(state, id)) return;
    output.release();
    reply({ id, failed: error.message, ...(error.code === undefined ? {} : { code: error.code }) });
  });
  child.once("exit", (exitCode, signal) => {
    if (!forgetProgram(state, id)) return;
    const done = (): void => {
      clearTimeout(timer);
      child.removeListener("close", done);
      const [stdout = "", stderr = ""] = output.texts.map((text) => text());
      child.stdout?.destroy();
      child.stderr?.destroy();
      output.release();
      reply({ id, exitCode, signal, stdout, stderr });
    };
    // A helper that went to the background keeps the pipes for ever.
    const timer = setTimeout(done, 100);
    child.once("close", done);
  });
}

function killProgram({ running }: SpawnerState, id: number, signal: NodeJS.Signals): void {
  const pid = running.get(id)?.pid;
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone: that is what was wanted.
  }
}

/** The parent has ended. */
function end(state: SpawnerState): never {
  for (const id of state.endingWithParent) killProgram(state, id, "SIGKILL");
  process.exit(0);
}

function carryOut(state: SpawnerState, order: SpawnerOrder): void {
  if ("run" in order) runProgram(state, order.run);
  else if ("kill" in order) killProgram(state, order.kill, order.signal);
  else {
    state.fs.closeSync(order.close);
    reply({ closed: order.close });
  }
}

/** Ends with its input, which is when its parent ends, whatever the way; most programs that are under way stay. */
function spawnerMain(load: (name: string) => unknown): void {
  const { spawn } = load("node:child_process") as typeof import("node:child_process");
  const { tmpdir } = load("node:os") as typeof import("node:os");
  const { randomUUID } = load("node:crypto") as typeof import("node:crypto");
  const state: SpawnerState = {
    spawn,
    fs: load("node:fs") as typeof import("node:fs"),
    newFile: () => `${tmpdir()}/mooring-output-${randomUUID()}`,
    limit: 1024 * 1024,
    running: new Map(),
    endingWithParent: new Set(),
  };
  // An operator who stops the service means the parent, which may still need us to put things in order.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) carryOut(state, JSON.parse(line));
  });
  for (const event of ["end", "error"]) process.stdin.on(event, () => end(state));
  process.stdout.on("error", () => end(state));
}

const PARTS = [
  reply,
  openNameless,
  tailOfFile,
  tailOfStream,
  runProgram,
  forgetProgram,
  watchProgram,
  killProgram,
  end,
  carryOut,
];

/** `__name` is what some compilers put into the text of a function. */
export const SPAWNER_PROGRAM: string = `const __name = (f) => f;
${PARTS.map(String).join("\n")}
(${String(spawnerMain)})(require);`;
