import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CsiClient, connect } from "@mooring/csi";
import type { RestStore } from "@mooring/store";
import { Kubectl } from "../../support/kubectl.ts";
import { nothingLeftOver } from "../../support/left-over.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { Up } from "../../support/up.ts";
import { command, tried } from "./command.ts";
import { detachBelow } from "./devices.ts";
import { Machine } from "./machine.ts";
import { Network } from "./network.ts";

/** So short that a test can wait for their end; so long that a machine with a lot to do renews them in time. */
const SHORT_LEASES = ["--lease-duration", "16s"];

export interface NodesOptions {
  /** Names of the machines beside the one that has the API server. */
  nodes: readonly string[];
  /** More arguments of `mooring up`, and of every `mooring node`. */
  upArgs?: readonly string[];
  nodeArgs?: readonly string[];
  /** A folder that every machine sees under this path, on a reflink file system of its own. */
  shared?: boolean;
}

/** Several machines on one API server. The test that creates them disposes of them. */
export class Nodes {
  readonly folder: string;
  readonly network: Network;
  readonly machines = new Map<string, Machine>();
  #up: Up | undefined;
  #store: RestStore | undefined;
  #csi: CsiClient | undefined;

  private constructor(folder: string, network: Network) {
    this.folder = folder;
    this.network = network;
  }

  static async create(options: NodesOptions): Promise<Nodes> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-nodes-"));
    const nodes = new Nodes(folder, await Network.create());
    try {
      await nodes.#start(options);
      return nodes;
    } catch (error) {
      await nodes.#end();
      throw error;
    }
  }

  /**
   * Machines that have the shared pool `common`, with leases and a grace so short that a test can wait for their end, by
   * default.
   */
  static async sharing(
    names: readonly string[],
    nodeGrace = "32s",
    leases: readonly string[] = SHORT_LEASES,
  ): Promise<Nodes> {
    const upArgs = [...leases, "--node-grace", nodeGrace];
    const nodes = await Nodes.create({ nodes: [], shared: true, upArgs });
    try {
      await nodes.join(names, leases);
      return nodes;
    } catch (error) {
      await nodes.#end();
      throw error;
    }
  }

  /** Adds machines that have the shared pool `common` and hardly a pool of their own. */
  async join(names: readonly string[], args: readonly string[] = []): Promise<void> {
    const pools = ["--pool", "directory", "--shared-pool", `common=${this.shared}`];
    for (const name of names) await this.add(name, [...pools, ...args]);
  }

  /** The folder that all machines see. */
  get shared(): string {
    return join(this.folder, "shared");
  }

  /** Mounted before the machines are, so that each gets a mount of its own with its namespace. */
  async #share(): Promise<void> {
    const file = join(this.folder, "shared.img");
    await mkdir(this.shared);
    await command("truncate", "--size", "3G", file);
    await command("mkfs.xfs", "-q", "-m", "reflink=1", "-s", "size=4096", file);
    await command("mount", "-o", "loop,nouuid", file, this.shared);
  }

  async #start({ nodes, upArgs = [], nodeArgs = [], shared }: NodesOptions): Promise<void> {
    if (shared === true) await this.#share();
    // A port that stays: nodes find the API server again after its restart. No other process has this address.
    const listen = `${this.network.address}:6443`;
    const args = [...this.#trust, ...upArgs];
    this.#up = await Up.create({ nodeName: "hub", listen, pool: "directory", args });
    await this.#up.start();
    for (const name of nodes) await this.add(name, nodeArgs);
  }

  get up(): Up {
    if (this.#up === undefined) throw new Error("not started");
    return this.#up;
  }

  get kubectl(): Kubectl {
    return new Kubectl(this.up.kubeconfig);
  }

  /** The API server as this machine sees it. */
  async store(): Promise<RestStore> {
    this.#store ??= await this.up.store();
    return this.#store;
  }

  machine(name: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new Error(`there is no machine ${name}`);
    return machine;
  }

  /** The driver's socket beside the API server: its controller service is the one for all. */
  async controller(): Promise<CsiClient["controller"]> {
    this.#csi ??= await connect(`unix://${join(this.up.stateDir, "csi.sock")}`, { timeoutMs: 120_000 });
    return this.#csi.controller;
  }

  get #trust(): string[] {
    return ["--trusted-network", this.network.trusted];
  }

  /** A machine that names the same network as the others; `stateDir` where it has a disk of its own. */
  async add(
    name: string,
    more: readonly string[] = [],
    stateDir = join(this.folder, name),
  ): Promise<Machine> {
    const args = [...this.#trust, ...more];
    const { kubeconfig } = this.up;
    const seat = await this.network.seat();
    const machine = new Machine({ name, stateDir, seat, kubeconfig, args });
    this.machines.set(name, machine);
    await machine.start();
    return machine;
  }

  /** The last of all: what is reported here is of every machine's remains. */
  async dispose(): Promise<void> {
    try {
      // Its machines may be dead, or new ones: of their devices nothing is reported here.
      if (this.#up?.alive === true) await nothingLeftOver(await this.store(), this.up.stateDir);
      await this.#atRest();
    } finally {
      await this.#end();
    }
  }

  /** Nothing that runs has slept through its event. */
  async #atRest(): Promise<void> {
    if (this.#up?.alive === true) await this.#up.atRest();
    for (const machine of this.machines.values()) await machine.atRest();
  }

  async #end(): Promise<void> {
    for (const machine of this.machines.values()) await machine.losePower().catch(() => {});
    this.#csi?.close();
    this.#store?.close();
    await this.#up?.dispose().catch(() => {});
    await this.network.dispose();
    await tried("umount", this.shared);
    await detachBelow(this.folder).catch(() => {});
    await removeFolder(this.folder);
  }
}
