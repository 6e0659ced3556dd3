import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CsiClient, connect } from "@mooring/csi";
import { eventually } from "@mooring/store/testing";
import { apart } from "../../../packages/engine/src/testing/apart.ts";
import { nothingSleeps, sleepersSocket } from "../../support/sleepers.ts";
import { command } from "./command.ts";
import { detachBelow, detachLater } from "./devices.ts";
import type { Seat } from "./network.ts";

const BUNDLE = fileURLToPath(new URL("../../../dist/mooring.mjs", import.meta.url));

export interface MachineOptions {
  name: string;
  /** Below the world's folder. */
  stateDir: string;
  seat: Seat;
  kubeconfig: string;
  args?: readonly string[];
}

/** A `mooring node` in network and mount namespaces of its own: as much of another machine as one kernel has. */
export class Machine {
  readonly name: string;
  readonly stateDir: string;
  readonly seat: Seat;
  readonly #kubeconfig: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #csi: CsiClient | undefined;
  /** Everything its process wrote, over all its lives. */
  output = "";

  constructor({ name, stateDir, seat, kubeconfig, args = [] }: MachineOptions) {
    this.name = name;
    this.stateDir = stateDir;
    this.seat = seat;
    this.#kubeconfig = kubeconfig;
    this.#args = args;
  }

  /** Beside the state folder, where the machine that asks sees it too. */
  get #sleepers(): string {
    return `${this.stateDir}.sleepers`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The driver's socket on this machine. A path is reached from every network namespace. */
  async csi(): Promise<CsiClient> {
    this.#csi ??= await connect(`unix://${join(this.stateDir, "csi.sock")}`, { timeoutMs: 120_000 });
    return this.#csi;
  }

  /** `inside`: a process that has kept this machine's mounts over the end of its agent. */
  async start({ inside }: { inside?: number } = {}): Promise<void> {
    const readyFile = join(this.stateDir, "ready");
    await mkdir(this.stateDir, { recursive: true });
    await rm(readyFile, { force: true });
    const node = [process.execPath, BUNDLE, "node", ...(await this.#invitation())];
    const own = ["--state-dir", this.stateDir, "--node-name", this.name, "--ready-file", readyFile];
    const fresh = [
      `--net=/run/netns/${this.seat.namespace}`,
      ...["unshare", ...apart(dirname(this.stateDir))],
    ];
    const where = inside === undefined ? fresh : ["--target", String(inside), "--mount", "--net"];
    const child = spawn("nsenter", [...where, ...node, ...own, ...this.#args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...sleepersSocket(this.#sleepers) },
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    await eventually(`node ${this.name} to be ready`, async () => {
      if (!this.alive) throw new Error(`mooring node ended early:\n${this.output.slice(-4000)}`);
      return readFile(readyFile).then(
        () => true,
        () => undefined,
      );
    });
  }

  /** The first time it joins, with a token; from then on it has what it needs in its state folder. */
  async #invitation(): Promise<string[]> {
    if (existsSync(join(this.stateDir, "identity", "kubeconfig"))) return [];
    const made = await command(
      process.execPath,
      BUNDLE,
      "token",
      "create",
      "--json",
      "--kubeconfig",
      this.#kubeconfig,
    );
    const { token, server } = JSON.parse(made) as { token: string; server: string };
    return ["--join", server, "--token", token];
  }

  /** A program in this machine's namespaces. */
  run(...argv: string[]): Promise<string> {
    return command("nsenter", ...this.#enter(), ...argv);
  }

  /** The same, in the background. */
  spawn(...argv: string[]): ChildProcess {
    return spawn("nsenter", [...this.#enter(), ...argv], { stdio: ["ignore", "pipe", "pipe"] });
  }

  #enter(): string[] {
    return ["--target", String(this.pid), "--mount", "--net"];
  }

  /** Fails when its agent has slept through an event. One that is not running, as a test wants, has no say. */
  async atRest(): Promise<void> {
    if (!this.alive) return;
    await nothingSleeps(this.#sleepers).catch((cause: unknown) => {
      const output = this.output.slice(-4000);
      throw new Error(`node ${this.name} is not at rest; it printed:\n${output}`, { cause });
    });
  }

  /** Ends it as an operator would, at rest. */
  async stop(): Promise<void> {
    if (this.#child === undefined) return;
    await this.atRest();
    this.#child.kill("SIGTERM");
    await eventually(`node ${this.name} to stop`, async () => !this.alive);
    this.#forget();
  }

  /** Ends the agent, and nothing else on the machine. Resolves with a process that keeps the machine's mounts. */
  async killAgent(): Promise<number> {
    const keeper = this.spawn("sh", "-c", "echo here; exec sleep infinity");
    if (keeper.stdout === null) throw new Error("no output to wait for");
    await once(keeper.stdout, "data");
    kill(this.pid);
    await eventually(`the agent of ${this.name} to be gone`, async () => !this.alive);
    this.#forget();
    return keeper.pid ?? 0;
  }

  /** Ends the machine's processes whose arguments name this text. */
  async killWith(text: string): Promise<void> {
    for (const pid of await this.processes()) {
      const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      if (line.includes(text)) kill(pid);
    }
  }

  /** What a power loss does: every process at once, and with the last one the mounts; then the devices. */
  async losePower(): Promise<void> {
    // Asked while its mounts are there: of a folder that others have as well, paths say whose a device is.
    const detach = await detachLater(this.stateDir);
    await eventually(`processes of ${this.name} to be gone`, async () => {
      const pids = await this.processes();
      for (const pid of pids) kill(pid);
      return pids.length === 0;
    });
    await detach();
    await detachBelow(this.stateDir);
    this.#forget();
  }

  /** Whatever lives in its network namespace: agent, helpers, pods, programs of the test. */
  async processes(): Promise<number[]> {
    const list = await command("ip", "netns", "pids", this.seat.namespace).catch(() => "");
    return list.split("\n").filter(Boolean).map(Number);
  }

  #forget(): void {
    this.#csi?.close();
    this.#csi = undefined;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went by itself.
  }
}
