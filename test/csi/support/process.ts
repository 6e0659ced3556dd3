import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { eventually } from "@mooring/store/testing";
import { listens, nothingSleeps } from "../../support/sleepers.ts";

const BUNDLE = fileURLToPath(new URL("../../../dist/mooring.mjs", import.meta.url));

/** No machine is so busy that a stop takes longer. */
const STOP_MS = 120_000;

/** One `mooring` process, as an operator or a supervisor starts it. */
export class MooringProcess {
  readonly #child: ChildProcess;
  readonly #sleepers: string | undefined;
  readonly #ended: Promise<number | NodeJS.Signals>;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], env: NodeJS.ProcessEnv, wrapper: readonly string[] = []) {
    this.#sleepers = env.MOORING_SLEEPERS_SOCKET;
    const [file = process.execPath, ...rest] = [...wrapper, process.execPath, BUNDLE, ...args];
    this.#child = spawn(file, rest, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    // "close" and not "exit": its last output is in by then.
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => resolve(code ?? signal ?? 0));
    });
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Fails when it has slept through an event; its environment has a `sleepersSocket`. */
  async atRest(): Promise<void> {
    const socket = this.#sleepers;
    if (socket === undefined) throw new Error("it was started without a socket to ask it at");
    // One that has just been started has it a moment later, and its predecessor's until then.
    await eventually("it to listen, or to end", async () => !this.alive || (await listens(socket)));
    await nothingSleeps(socket).catch((cause: unknown) => {
      throw new Error(`not at rest; it printed:\n${this.stderr.slice(-4000)}`, { cause });
    });
  }

  /** Its exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals> {
    return this.#ended;
  }

  /** Sends a signal if it still runs, and waits for the end; one that does not stop is killed. */
  async end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<number | NodeJS.Signals> {
    if (this.alive) this.#child.kill(signal);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    return this.#ended.finally(() => clearTimeout(timer));
  }
}

/** This process's environment without anything that would configure a driver. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CSI_|MOORING_|NODE_TEST)/.test(name));
  return Object.fromEntries(kept);
}
