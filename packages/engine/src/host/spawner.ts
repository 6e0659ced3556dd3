import { defined } from "@mooring/store";
import type { ExecOptions, ExecResult } from "./host.ts";
import { JsonChild } from "./json-child.ts";
import { SPAWNER_PROGRAM, type SpawnerOrder, type SpawnerReply } from "./spawner-child.ts";

const KILL_AFTER_MS = 2000;

/** The program could not be started. */
export class StartError extends Error {
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

interface Waiting {
  resolve(result: ExecResult): void;
  reject(error: Error): void;
}

/**
 * A small process that starts programs for us. A fork copies the page tables of the forking process and stops it
 * meanwhile: milliseconds for a process of some hundred MB, next to nothing for a small one.
 */
export class Spawner {
  readonly #child: JsonChild<SpawnerOrder, SpawnerReply>;
  /** Our descriptors that the spawner has copies of, and their numbers there. */
  readonly #files: Map<number, number>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #closing = new Map<number, () => void>();
  #next = 1;
  #ended = false;

  constructor(files: readonly number[]) {
    this.#files = new Map(files.map((fd, index) => [fd, index + 3]));
    this.#child = new JsonChild({
      ...{ program: SPAWNER_PROGRAM, files },
      take: (reply) => this.#take(reply),
      exited: () => {
        this.#ended = true;
      },
      // Later than `exited`: what it still printed is taken first.
      ended: () => this.#end(),
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** False: it has ended, or lacks one of the files. */
  canRun(files: readonly number[]): boolean {
    return !this.#ended && this.#child.pid !== undefined && files.every((fd) => this.#files.has(fd));
  }

  async run(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const id = this.#next++;
    const { input, cwd, signal, uninterruptible = false, endsWithUs = false } = options;
    const inherit = (options.inherit ?? []).flatMap((fd) => this.#files.get(fd) ?? []);
    const result = new Promise<ExecResult>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    const stopKilling = uninterruptible ? undefined : this.#killOnAbort(id, signal);
    this.#keepAlive();
    this.#child.send({
      run: {
        id,
        file,
        args,
        env: { ...process.env, LC_ALL: "C", ...options.env },
        inherit,
        ...{ uninterruptible, endsWithUs },
        ...defined({ cwd }),
        ...(input === undefined ? {} : { input: Buffer.from(input).toString("base64") }),
      },
    });
    try {
      const end = await result;
      if (!uninterruptible) signal?.throwIfAborted();
      return end;
    } finally {
      stopKilling?.();
      this.#waiting.delete(id);
      this.#keepAlive();
    }
  }

  /** Resolves when the spawner has no copy of this file any more. */
  async release(fd: number): Promise<void> {
    const copy = this.#files.get(fd);
    if (copy === undefined || this.#ended) return;
    this.#files.delete(fd);
    await new Promise<void>((resolve) => {
      this.#closing.set(copy, resolve);
      this.#keepAlive();
      this.#child.send({ close: copy });
    });
    this.#keepAlive();
  }

  /** Ends when what is under way has ended. */
  retire(): void {
    const check = (): void => {
      if (this.#ended) return;
      if (this.#waiting.size + this.#closing.size === 0) this.#child.close();
      else setTimeout(check, 100).unref();
    };
    check();
  }

  #take(reply: SpawnerReply): void {
    if ("closed" in reply) {
      this.#closing.get(reply.closed)?.();
      this.#closing.delete(reply.closed);
    } else if ("failed" in reply) {
      this.#waiting.get(reply.id)?.reject(new StartError(reply.failed, reply.code));
    } else {
      const { id, ...result } = reply;
      this.#waiting.get(id)?.resolve(result);
    }
  }

  #end(): void {
    this.#ended = true;
    // Whether they did their work is not known; the caller reads the machine again, as after a crash.
    for (const { reject } of this.#waiting.values())
      reject(new Error("the process that starts programs has ended"));
    for (const closed of this.#closing.values()) closed();
    this.#waiting.clear();
    this.#closing.clear();
  }

  #killOnAbort(id: number, signal: AbortSignal | undefined): () => void {
    let hard: NodeJS.Timeout | undefined;
    const kill = (): void => {
      this.#child.send({ kill: id, signal: "SIGTERM" });
      hard = setTimeout(() => this.#child.send({ kill: id, signal: "SIGKILL" }), KILL_AFTER_MS);
    };
    signal?.addEventListener("abort", kill, { once: true });
    return () => {
      clearTimeout(hard);
      signal?.removeEventListener("abort", kill);
    };
  }

  #keepAlive(): void {
    this.#child.keepUsAlive(this.#waiting.size + this.#closing.size > 0);
  }
}
