import assert from "node:assert/strict";
import { mkdir, mkdtemp } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CsiClient, connect } from "@mooring/csi";
import { createHost, type PoolType } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { cleanUp } from "../../../packages/driver/src/testing/world.ts";
import { afterFile } from "../../support/at-end.ts";
import { machineRemains } from "../../support/remains.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { MooringProcess, plainEnvironment } from "./process.ts";

export const host = createHost();

export const NODE = "node-a";

export interface DriverOptions {
  pool?: PoolType;
  poolSize?: string;
  mode?: "controller" | "node" | "all";
  maxVolumes?: number;
  logLevel?: string;
  /** More arguments. */
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** A real `mooring driver` on a state folder of its own, which outlives restarts and kills of the process. */
export class Driver {
  readonly folder: string;
  readonly pool: PoolType;
  readonly #options: DriverOptions;
  #process: MooringProcess | undefined;
  #client: CsiClient | undefined;
  #output = "";

  constructor(folder: string, options: DriverOptions) {
    this.folder = folder;
    this.pool = options.pool ?? "xfs";
    this.#options = options;
  }

  get stateDir(): string {
    return join(this.folder, "state");
  }
  get socket(): string {
    return join(this.folder, "socket", "csi.sock");
  }
  /** Where it is asked what it has slept through. */
  get #sleepers(): string {
    return join(this.folder, "sleepers");
  }
  get endpoint(): string {
    return `unix://${this.socket}`;
  }
  get process(): MooringProcess {
    if (this.#process === undefined) throw new Error("the driver was never started");
    return this.#process;
  }
  get client(): CsiClient {
    if (this.#client === undefined) throw new Error("the driver was never started");
    return this.#client;
  }
  get controller(): CsiClient["controller"] {
    return this.client.controller;
  }
  get node(): CsiClient["node"] {
    return this.client.node;
  }
  /** Everything that it wrote to stdout and stderr, over all its lives. */
  get output(): string {
    return this.#output + (this.#process === undefined ? "" : this.#process.stdout + this.#process.stderr);
  }

  /** A path for a mount; its parent exists. */
  path(name: string): string {
    return join(this.folder, "mounts", name);
  }

  /** Starts it and waits for the socket; with `mayDie` also for its death before. */
  async start(env: NodeJS.ProcessEnv = {}, { mayDie = false } = {}): Promise<void> {
    const { mode = "all", poolSize = "4Gi", maxVolumes, logLevel, args: more = [] } = this.#options;
    this.#output = this.output;
    const args = ["driver", "--state-dir", this.stateDir, "--node-id", NODE, "--mode", mode].concat(
      ["--pool", this.pool, "--pool-size", poolSize],
      maxVolumes === undefined ? [] : ["--max-volumes", String(maxVolumes)],
      logLevel === undefined ? [] : ["--log-level", logLevel],
      more,
    );
    const own = { CSI_ENDPOINT: this.endpoint, ...sleepersSocket(this.#sleepers) };
    const all = { ...plainEnvironment(), ...own, ...this.#options.env, ...env };
    this.#process = new MooringProcess(args, all);
    await eventually(
      "the driver's socket",
      async () => {
        if ((await accepts(this.socket)) && this.process.alive) return true;
        if (this.process.alive) return undefined;
        if (mayDie) return true;
        throw new Error(`the driver ended early:\n${this.process.stderr}`);
      },
      { everyMs: 10 },
    );
    this.reconnect();
    this.#client = await connect(this.endpoint, { timeoutMs: 30_000 });
  }

  /** Drops the connection; the next life gets a new one. */
  reconnect(): void {
    this.#client?.close();
    this.#client = undefined;
  }

  async restart(env: NodeJS.ProcessEnv = {}): Promise<void> {
    if (this.process.alive) await this.process.atRest();
    assert.equal(await this.process.end("SIGTERM"), 0, this.output);
    await this.start(env);
  }

  /** Ends it and removes whatever is left; throws when something should not have been, or has slept through its event. */
  async dispose(): Promise<void> {
    try {
      if (this.#process?.alive === true) await this.#process.atRest();
    } finally {
      await this.#remove();
    }
  }

  async #remove(): Promise<void> {
    this.reconnect();
    const code = await this.#process?.end("SIGTERM");
    // Another process that has just got a mount namespace of its own may have copies of our mounts for a moment.
    const gone = async () => (await machineRemains(this.folder)).length === 0;
    await eventually("everything to be released", gone).catch(() => {});
    const left = await machineRemains(this.folder);
    await cleanUp(host, this.folder);
    assert.deepEqual(left, [], "mounts, devices and processes that are left");
    assert.equal(code, 0, `the driver ended with ${code}:\n${this.output.slice(-4000)}`);
  }
}

/** A process listens. The file alone may be left from a life before, or be there a moment before that. */
function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** A folder for a driver that is not started yet. Disposed of when the tests of the file have ended. */
export async function prepareDriver(options: DriverOptions = {}): Promise<Driver> {
  if (process.getuid?.() !== 0) throw new Error("this test mounts real volumes: run it as root");
  const folder = await mkdtemp(join(tmpdir(), "mooring-proof-"));
  await mkdir(join(folder, "mounts"));
  await mkdir(join(folder, "socket"));
  return new Driver(folder, options);
}

/** A running driver for the tests of one file. */
export async function startDriver(options: DriverOptions = {}): Promise<Driver> {
  const driver = await prepareDriver(options);
  afterFile(() => driver.dispose());
  await driver.start();
  return driver;
}
