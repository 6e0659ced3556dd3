import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CsiClient, connect } from "@mooring/csi";
import { NodeAgents } from "@mooring/engine";
import { getIfAny, type RestStore } from "@mooring/store";
import { type CephCluster, eventually, startCeph } from "@mooring/store/testing";
import { command } from "../nodes/support/command.ts";
import { Network } from "../nodes/support/network.ts";
import { type Command, Guest, guestFolder } from "../support/guest/guest.ts";
import { GUEST_NODE } from "../support/guest/registers.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";
import { forwardSocket } from "./guest-socket.ts";

const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));
/**
 * What a kernel needs for images of Ceph, for devices of them, and for volumes that another node serves. It asks for the
 * ciphers by itself where it finds modules.
 */
const MODULES = ["loop", "cbc", "hmac", "rbd", "nfsv4"];
/** Where a node has its state: on its disk. */
const STATE = "/run/disk/mooring";
/** Of those that are lost; far longer than an agent on a busy machine is ever silent. */
const GRACE = "30s";
/** Of a guest: `mooring node`, the programs of Ceph, and the server of a shared volume. */
const MEMORY = "640M";
/** For what waits until a node was lost. */
const PATIENCE_MS = 600_000;
/** For what a guest says of itself, if it still does. */
const STATES_MS = 60_000;

/** A machine with a kernel of its own, on which `mooring node` runs. */
export interface KernelNode {
  name: string;
  address: string;
  guest: Guest;
  /** Its `mooring node`. */
  agent: Command;
  /** Calls of that, as the kubelet of the node makes them. */
  csi: CsiClient["node"];
}

/** A Ceph cluster and a `mooring up` on this machine, and nodes that are guests, each with a kernel of its own. */
export class Kernels {
  readonly folder: string;
  readonly nodes = new Map<string, KernelNode>();
  readonly network: Network;
  /** The cluster's own on this machine, so that a node can lose the one and keep the other. */
  cephAddress = "";
  #disposing: Promise<void> | undefined;
  readonly #undo: (() => Promise<unknown>)[] = [];
  readonly #taps = new Map<string, { name: string; address: string }>();
  #ceph: CephCluster | undefined;
  #namespace = "";
  #up: Up | undefined;
  #store: RestStore | undefined;
  #csi: CsiClient | undefined;

  private constructor(folder: string, network: Network) {
    this.folder = folder;
    this.network = network;
    this.#undo.push(
      () => rm(folder, { recursive: true, force: true }),
      () => network.dispose(),
    );
  }

  static async start(names: readonly string[]): Promise<Kernels> {
    const kernels = new Kernels(await mkdtemp(join(tmpdir(), "mooring-kernels-")), await Network.create());
    try {
      await kernels.#start();
      await Promise.all(names.map((name) => kernels.boot(name)));
      return kernels;
    } catch (error) {
      await kernels.dispose();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { network } = this;
    this.cephAddress = await network.anotherAddress();
    this.#ceph = await startCeph((undo) => this.#undo.push(undo), { address: this.cephAddress });
    this.#namespace = await this.#ceph.namespace();
    const args = [...this.#common, "--node-grace", GRACE];
    const listen = `${network.address}:6443`;
    const up = await Up.create({ nodeName: "hub", listen, pool: "directory", args });
    this.#undo.push(() => up.dispose());
    await up.start();
    this.#up = up;
    this.#store = await up.store();
    this.#undo.push(async () => this.#store?.close());
  }

  get #common(): string[] {
    const { conf, user, keyring, pool } = this.ceph;
    const settings = `conf:${conf},user:${user},keyring:${keyring},pool:${pool},namespace:${this.#namespace}`;
    return ["--trusted-network", this.network.trusted, "--rbd-pool", `ceph=${settings}`];
  }

  get ceph(): CephCluster {
    if (this.#ceph === undefined) throw new Error("not started");
    return this.#ceph;
  }

  get store(): RestStore {
    if (this.#store === undefined) throw new Error("not started");
    return this.#store;
  }

  /** The driver's socket beside the API server. */
  async csi(): Promise<CsiClient> {
    const socket = join(this.#up?.stateDir ?? "", "csi.sock");
    this.#csi ??= await connect(`unix://${socket}`, { timeoutMs: PATIENCE_MS });
    return this.#csi;
  }

  async controller(): Promise<CsiClient["controller"]> {
    return (await this.csi()).controller;
  }

  node(name: string): KernelNode {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`node ${name} is not there`);
    return node;
  }

  /** `rbd` as the administrator, on the images of the pool. */
  rbd(...args: string[]): Promise<string> {
    return this.ceph.admin("rbd", "--pool", this.ceph.pool, "--namespace", this.#namespace, ...args);
  }

  /** Turns a machine on. The first time it joins; what it knows of that is on its disk. */
  async boot(name: string): Promise<KernelNode> {
    const { folder } = this;
    const disk = join(guestFolder(folder, name), "disk.img");
    const isNew = !this.#taps.has(name);
    const tap = this.#taps.get(name) ?? (await this.network.tap());
    this.#taps.set(name, tap);
    if (isNew) {
      await mkdir(guestFolder(folder, name), { recursive: true });
      await command("truncate", "--size", "256M", disk);
      await command("mkfs.ext4", "-q", disk);
    }
    const guest = await Guest.boot({ folder, name, tap, disk, memory: MEMORY, modules: MODULES });
    this.#undo.push(() => guest.stop());
    const own = ["--state-dir", STATE, "--node-name", name, "--pool", "directory"];
    const invitation = isNew ? await this.#invitation() : [];
    const line = [GUEST_NODE, BUNDLE, "node", ...invitation, ...own, ...this.#common].join(" ");
    const { address } = tap;
    const csi = await this.#csiOf({ guest, address }, name);
    const node: KernelNode = { name, address, guest, csi, agent: guest.start(`exec ${line}`) };
    this.nodes.set(name, node);
    await this.agentIs(name, "Ready");
    return node;
  }

  /** Each life of a node has a socket of its own here. */
  async #csiOf(at: { guest: Guest; address: string }, name: string): Promise<CsiClient["node"]> {
    const socket = join(this.folder, `${name}-${this.#undo.length}.sock`);
    const close = await forwardSocket(at, `${STATE}/csi.sock`, socket);
    const client = await connect(`unix://${socket}`, { timeoutMs: PATIENCE_MS });
    this.#undo.push(async () => {
      client.close();
      close();
    });
    return client.node;
  }

  async #invitation(): Promise<string[]> {
    const kubeconfig = this.#up?.kubeconfig ?? "";
    const made = await command(
      process.execPath,
      BUNDLE,
      "token",
      "create",
      "--json",
      "--kubeconfig",
      kubeconfig,
    );
    const { token, server } = JSON.parse(made) as { token: string; server: string };
    return ["--join", server, "--token", token];
  }

  /** Waits until the API server knows a node's agent in one of these states (`Suspect|Fenced`). */
  async agentIs(name: string, states: string): Promise<void> {
    await eventually(
      `the agent of ${name} to be ${states}`,
      async () => {
        const node = this.nodes.get(name);
        if (states === "Ready" && node?.agent.code !== undefined)
          throw new Error(
            `mooring node on ${name} ended with ${node.agent.code}:\n${node.agent.lines
              .slice(-12)
              .map((line) => line.slice(0, 400))
              .join("\n")}`,
          );
        const agent = await getIfAny(this.store, NodeAgents, { name });
        return states.split("|").includes(agent?.status?.state ?? "");
      },
      {
        withinMs: PATIENCE_MS,
        everyMs: 100,
        lastSeen: () => this.nodes.get(name)?.agent.lines.slice(-20),
      },
    );
  }

  /** Resolves when a node's agent has reported so many times more that it lives. */
  async beats(name: string, count: number): Promise<void> {
    const seen = new Set<string | undefined>();
    await eventually(
      `${name} to report ${count} times`,
      async () => seen.add((await this.store.get(NodeAgents, { name })).status?.heartbeat).size > count,
      { withinMs: PATIENCE_MS },
    );
  }

  /** Resolves when `mooring why` says so of a volume. */
  async why(volume: string, cause: RegExp): Promise<void> {
    let said = "";
    await eventually(
      `why volume/${volume} to say ${cause}`,
      async () => {
        said = (await mooring("why", `volume/${volume}`, "--kubeconfig", this.#up?.kubeconfig ?? "")).stdout;
        return cause.test(said);
      },
      { withinMs: PATIENCE_MS, everyMs: 1000, lastSeen: () => [said, this.logs()] },
    );
  }

  /** What the nodes' agents have printed last. */
  logs(): string {
    return [...this.nodes.values()]
      .map(
        ({ name, agent }) =>
          `--- ${name}\n${agent.lines
            .slice(-12)
            .map((line) => line.slice(0, 400))
            .join("\n")}`,
      )
      .join("\n");
  }

  /** What each node's kernel says, and its programs: where they wait. */
  async states(): Promise<string> {
    const line = "ps -eo pid,stat,wchan:24,args | grep -v '\\]$' | cut -c1-160; dmesg | tail -15";
    const ask = async ({ name, guest }: KernelNode) =>
      `--- ${name}\n${await guest.run(line, STATES_MS).catch((error: unknown) => String(error))}`;
    return (await Promise.all([...this.nodes.values()].map(ask))).join("\n");
  }

  /** Called again, while it is under way, it is the same end: whoever leaves after it leaves nothing. */
  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    this.#csi?.close();
    for (const undo of this.#undo.splice(0).reverse()) await undo().catch(() => {});
  }
}
