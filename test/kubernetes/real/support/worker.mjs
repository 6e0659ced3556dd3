// Machines beside the one that a cluster's control plane runs on: each with mounts, processes and a network of its own, joined by
// one bridge.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const ip = (...args) => execute("ip", args);
const BRIDGE = "machines";
const MACHINE = fileURLToPath(new URL("machine.mjs", import.meta.url));

/** This machine's end of all wires. It sends on what is not for itself. */
export async function makeBridge(address) {
  await ip("link", "add", BRIDGE, "type", "bridge");
  await ip("address", "add", `${address}/24`, "dev", BRIDGE);
  await ip("link", "set", BRIDGE, "up");
  await execute("sh", ["-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"]);
}

/** A network namespace with one wire to the bridge; whatever is elsewhere is behind `gateway`. */
async function makeNetwork({ name, address, subnet }, gateway) {
  const inside = (...args) => ip("-n", name, ...args);
  await ip("netns", "add", name);
  await ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name);
  await ip("link", "set", name, "master", BRIDGE, "up");
  await inside("link", "set", "lo", "up");
  await inside("address", "add", `${address}/24`, "dev", "eth0");
  await inside("link", "set", "eth0", "up");
  await inside("route", "add", "default", "via", gateway);
  await ip("route", "add", subnet, "via", address);
}

async function childOf(parent) {
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const status = await readFile(`/proc/${name}/status`, "utf8").catch(() => "");
    if (new RegExp(`^PPid:\\s*${parent}$`, "m").test(status)) return Number(name);
  }
  return undefined;
}

/** One machine with a node of the cluster on it. */
export class Worker {
  #child;
  #settings;

  /** `node`: of `admit`; `settings`: of machine.mjs, without the node. */
  constructor(node, settings) {
    this.node = node;
    this.name = node.name;
    this.folder = join(settings.home, node.name);
    this.stateFolder = `/var/lib/mooring/${node.name}`;
    this.#settings = { ...settings, node, folder: this.folder };
  }

  async plugIn(gateway) {
    await makeNetwork(this.node, gateway);
  }

  /** Resolves when it is a ready node. */
  async start() {
    await mkdir(this.folder, { recursive: true });
    const out = openSync(join(this.#settings.logs, `machine-${this.name}.log`), "a");
    const apart = ["--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"];
    this.#child = spawn(
      "nsenter",
      [
        ...[`--net=/run/netns/${this.name}`, "unshare", ...apart, "--propagation", "private"],
        ...[process.execPath, MACHINE, JSON.stringify(this.#settings)],
      ],
      { stdio: ["ignore", out, out, "ipc"] },
    );
    const ended = once(this.#child, "exit").then(([code]) => {
      throw new Error(`${this.name} has ended (${code}): see ${this.#settings.logs}`);
    });
    await Promise.race([once(this.#child, "message"), ended]);
    ended.catch(() => {});
    this.pid = await childOf(this.#child.pid);
  }

  /** Nothing reaches it any more, and it reaches nobody. */
  async cutOff() {
    await ip("link", "set", this.name, "down");
  }

  async connect() {
    await ip("link", "set", this.name, "up");
  }

  async #report(what, name) {
    const done = once(this.#child, "message");
    this.#child.send({ what, name });
    await done;
  }

  /** `name`: "kubelet" or "containerd". At once, without a word to anybody; what it has started runs on. */
  async endProgram(name) {
    await this.#report("end", name);
  }

  async startProgram(name) {
    await this.#report("start", name);
  }

  /** A path of this machine as seen from here, with everything that is mounted there. */
  at(path) {
    return join(`/proc/${this.pid}/root`, path);
  }

  /** What is mounted there. */
  async mounts() {
    return (await readFile(`/proc/${this.pid}/mountinfo`, "utf8")).split("\n");
  }

  /** Runs a program there; returns what it prints. */
  async run(...argv) {
    const { stdout } = await execute("nsenter", ["-t", String(this.pid), "-m", "-n", "-p", ...argv]);
    return stdout;
  }
}
