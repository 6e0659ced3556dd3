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

/**
 * The program of the spawner process. It runs from its text (`node -e`), so that source and bundle need no file for it;
 * therefore it uses nothing from outside of itself. It ends with its input, which is when its parent ends, whatever the
 * way; programs that are under way stay.
 */
function spawnerMain(load: (name: string) => unknown): void {
  const { spawn } = load("node:child_process") as typeof import("node:child_process");
  const fs = load("node:fs") as typeof import("node:fs");
  const { tmpdir } = load("node:os") as typeof import("node:os");
  const { randomUUID } = load("node:crypto") as typeof import("node:crypto");
  const limit = 1024 * 1024;
  const drainMs = 100;
  const running = new Map<number, ChildProcess>();

  const send = (reply: SpawnerReply): void => {
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  };

  /** A pipe without a reader would end mkfs half-way, should we be killed: its output goes to files without a name. */
  const namelessFile = (): number => {
    const path = `${tmpdir()}/mooring-output-${randomUUID()}`;
    const fd = fs.openSync(path, "wx+", 0o600);
    fs.unlinkSync(path);
    return fd;
  };

  const tailOfFile = (fd: number): string => {
    const { size } = fs.fstatSync(fd);
    const length = Math.min(size, limit);
    const buffer = Buffer.alloc(length);
    const read = fs.readSync(fd, buffer, 0, length, size - length);
    return buffer.subarray(0, read).toString("utf8");
  };

  const follow = (stream: NodeJS.ReadableStream | null): (() => string) => {
    let tail = Buffer.alloc(0);
    stream?.on("data", (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-limit);
    });
    stream?.on("error", () => {});
    return () => tail.toString("utf8");
  };

  const watch = (id: number, child: ChildProcess, texts: (() => string)[], release: () => void): void => {
    running.set(id, child);
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (!running.delete(id)) return;
      release();
      send({ id, failed: error.message, ...(error.code === undefined ? {} : { code: error.code }) });
    });
    child.once("exit", (exitCode, signal) => {
      if (!running.delete(id)) return;
      const done = (): void => {
        clearTimeout(timer);
        child.removeListener("close", done);
        const [stdout = "", stderr = ""] = texts.map((text) => text());
        child.stdout?.destroy();
        child.stderr?.destroy();
        release();
        send({ id, exitCode, signal, stdout, stderr });
      };
      // A helper that went to the background keeps the pipes for ever.
      const timer = setTimeout(done, drainMs);
      child.once("close", done);
    });
  };

  const run = (request: SpawnRequest): void => {
    const files: number[] = [];
    const release = (): void => {
      for (const fd of files) fs.closeSync(fd);
    };
    try {
      // One after the other: where the second cannot be made, the first is released.
      if (request.uninterruptible) for (let index = 0; index < 2; index++) files.push(namelessFile());
      const child = spawn(request.file, request.args, {
        detached: true,
        stdio: [
          request.input === undefined ? "ignore" : "pipe",
          ...(request.uninterruptible ? files : (["pipe", "pipe"] as const)),
          ...request.inherit,
        ],
        env: request.env,
        ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
      });
      child.stdin?.on("error", () => {});
      child.stdin?.end(Buffer.from(request.input ?? "", "base64"));
      const texts = request.uninterruptible
        ? files.map((fd) => () => tailOfFile(fd))
        : [follow(child.stdout), follow(child.stderr)];
      watch(request.id, child, texts, release);
    } catch (error) {
      release();
      send({ id: request.id, failed: error instanceof Error ? error.message : String(error) });
    }
  };

  const kill = (id: number, signal: NodeJS.Signals): void => {
    const pid = running.get(id)?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group is gone: that is what was wanted.
    }
  };

  const carryOut = (order: SpawnerOrder): void => {
    if ("run" in order) run(order.run);
    else if ("kill" in order) kill(order.kill, order.signal);
    else {
      fs.closeSync(order.close);
      send({ closed: order.close });
    }
  };

  // An operator who stops the service means the parent, which may still need us to put things in order.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) carryOut(JSON.parse(line));
  });
  for (const event of ["end", "error"]) process.stdin.on(event, () => process.exit(0));
  process.stdout.on("error", () => process.exit(0));
}

/** `__name` is what some compilers put into the text of a function. */
export const SPAWNER_PROGRAM: string = `const __name = (f) => f; (${spawnerMain.toString()})(require);`;
