import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defined, RestStore } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { nothingLeftOver } from "./left-over.ts";
import { removeFolder } from "./remove-folder.ts";
import { nothingSleeps, sleepersSocket } from "./sleepers.ts";

const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));

export interface UpOptions {
  pool?: "xfs" | "btrfs" | "directory";
  poolSize?: string;
  env?: Record<string, string>;
  /** `host:port`; default a free port of the loopback. */
  listen?: string;
  nodeName?: string;
  /** One that is there; default a new one. */
  stateDir?: string;
  /** More arguments. */
  args?: readonly string[];
  /** Milliseconds until a start that gets nowhere has failed; default two minutes. */
  startWithinMs?: number;
  /** What runs `mooring`; default the bundle, by the Node.js that runs this. */
  program?: readonly [string, ...string[]];
}

/** A real `mooring up` on a state folder of its own, which outlives crashes of the process. */
export class Up {
  readonly stateDir: string;
  readonly #options: UpOptions;
  #child: ChildProcess | undefined;
  /** Everything the process wrote, over all its lives. */
  output = "";

  private constructor(stateDir: string, options: UpOptions) {
    this.stateDir = stateDir;
    this.#options = options;
  }

  static async create(options: UpOptions = {}): Promise<Up> {
    return new Up(options.stateDir ?? (await mkdtemp(join(tmpdir(), "mooring-test-"))), options);
  }

  get kubeconfig(): string {
    return join(this.stateDir, "kubeconfig");
  }

  /** Beside the state folder: nothing of ours is in there. */
  get #sleepers(): string {
    return `${this.stateDir}.sleepers`;
  }

  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts the process; resolves when it is ready. With `mayDie` also when it has died before. */
  async start(env: Record<string, string> = {}, { mayDie = false } = {}): Promise<void> {
    const readyFile = join(this.stateDir, "ready");
    await rm(readyFile, { force: true });
    const { pool = "xfs", poolSize = "4Gi", listen = "127.0.0.1:0", nodeName = "node-a" } = this.#options;
    const [program, ...first] = this.#options.program ?? [process.execPath, BUNDLE];
    const child = spawn(
      program,
      [...first, "up", "--state-dir", this.stateDir, "--pool", pool, "--pool-size", poolSize].concat([
        "--listen",
        listen,
        "--node-name",
        nodeName,
        "--ready-file",
        readyFile,
        ...(this.#options.args ?? []),
      ]),
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ...sleepersSocket(this.#sleepers), ...this.#options.env, ...env },
      },
    );
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    const isReady = async () => {
      if (!this.alive && mayDie) return true;
      if (!this.alive) throw new Error(`mooring up ended early:\n${this.output.slice(-4000)}`);
      return readFile(readyFile).then(
        () => true,
        () => undefined,
      );
    };
    const { startWithinMs } = this.#options;
    const what = `mooring up to be ready\n${this.output.slice(-2000)}`;
    await eventually(what, isReady, defined({ withinMs: startWithinMs }));
  }

  /** Sends a signal and waits for the end; resolves to the exit code. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || !this.alive) return child?.exitCode ?? null;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  /** Closes our ends of its output, as a `tee` does that a Ctrl-C has ended. */
  hangUp(): void {
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
  }

  async store(): Promise<RestStore> {
    return RestStore.fromKubeconfig(this.kubeconfig);
  }

  /**
   * Disposed of, once nothing outlives the volume that it was for, and ended as it should. A process that a test has ended
   * says nothing of that.
   */
  async disposeWhole(): Promise<void> {
    const isAlive = this.alive;
    try {
      if (isAlive) await nothingLeftOver(await this.store(), this.stateDir);
    } finally {
      await this.dispose();
    }
    if (isAlive && this.#child?.exitCode !== 0)
      throw new Error(`mooring up ended with ${this.#child?.exitCode}:\n${this.output.slice(-4000)}`);
  }

  /** Fails when anything in the running process has slept through its event. */
  async atRest(): Promise<void> {
    await nothingSleeps(this.#sleepers);
  }

  /**
   * Stops cleanly and removes the state folder, after a check whether anything has slept through its event. A process
   * that was killed has left its pods and mounts behind: the next one takes them over, and releases them when it stops.
   */
  async dispose(): Promise<void> {
    try {
      if (this.#child?.signalCode !== null && this.#child !== undefined) await this.start();
      if (this.alive) await this.atRest();
    } finally {
      await this.#remove();
    }
  }

  /**
   * The end of one that has failed: cleanly where it still can, and no check fails it once more. What it has left mounted is
   * unmounted, and then removed, by the sweep behind the file's process.
   */
  async discard(): Promise<void> {
    const child = this.#child;
    if (this.alive) child?.kill("SIGTERM");
    await eventually("it to end", () => !this.alive).catch(() => this.end("SIGKILL"));
    await removeFolder(this.stateDir).catch(() => {});
    await rm(this.#sleepers, { force: true });
  }

  async #remove(): Promise<void> {
    try {
      await this.end("SIGTERM");
    } finally {
      await removeFolder(this.stateDir);
      await rm(this.#sleepers, { force: true });
    }
  }
}
