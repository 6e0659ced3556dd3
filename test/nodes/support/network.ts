import { randomBytes } from "node:crypto";
import { command, tried } from "./command.ts";

/** One machine's place in the network: a namespace of its own and a cable to the bridge. */
export interface Seat {
  /** `/run/netns/<name>`; also its name for `ip netns`. */
  namespace: string;
  address: string;
  /** Pulls the cable out, or puts it in again. */
  link(state: "up" | "down"): Promise<void>;
}

/** A bridge on this machine with network namespaces on it, under names that no other run has. */
export class Network {
  /** Interface names have 15 characters. */
  readonly #tag = randomBytes(3).toString("hex");
  readonly #subnet: string;
  readonly #seats: string[] = [];
  readonly #taps: string[] = [];

  private constructor(subnet: string) {
    this.#subnet = subnet;
  }

  static async create(): Promise<Network> {
    const network = new Network(await freeSubnet());
    try {
      await command("ip", "link", "add", network.#bridge, "type", "bridge");
      await command("ip", "address", "add", `${network.address}/24`, "dev", network.#bridge);
      await command("ip", "link", "set", network.#bridge, "up");
      return network;
    } catch (error) {
      await network.dispose();
      throw error;
    }
  }

  get #bridge(): string {
    return `mrgbr${this.#tag}`;
  }

  /** This machine's address on the bridge. */
  get address(): string {
    return `${this.#subnet}.1`;
  }

  /** Half of the network: where seats and cables are, unless one is asked for outside of it. */
  get trusted(): string {
    return `${this.#subnet}.0/25`;
  }

  /** An address in the trusted half that nobody has. */
  get spare(): string {
    return `${this.#subnet}.100`;
  }

  /** Gives this machine another address on the bridge: who loses the way to the one still has the way to the other. */
  async anotherAddress(): Promise<string> {
    const address = `${this.#subnet}.99`;
    await command("ip", "address", "add", `${address}/24`, "dev", this.#bridge);
    return address;
  }

  /** `outside`: on the same bridge, but not in the trusted half. */
  async seat({ outside = false }: { outside?: boolean } = {}): Promise<Seat> {
    const number = this.#seats.length + (outside ? 130 : 2);
    const namespace = `mrg${this.#tag}-${number}`;
    const [socket, plug] = [`mrgo${this.#tag}${number}`, `mrgi${this.#tag}${number}`];
    const address = `${this.#subnet}.${number}`;
    this.#seats.push(namespace);
    await command("ip", "netns", "add", namespace);
    await command("ip", "link", "add", socket, "type", "veth", "peer", "name", plug, "netns", namespace);
    await command("ip", "link", "set", socket, "master", this.#bridge, "up");
    await command("ip", "-n", namespace, "link", "set", "lo", "up");
    await command("ip", "-n", namespace, "address", "add", `${address}/24`, "dev", plug);
    await command("ip", "-n", namespace, "link", "set", plug, "up");
    return {
      namespace,
      address,
      link: async (state) => {
        await command("ip", "link", "set", socket, state);
      },
    };
  }

  /** A cable to the bridge for a kernel of its own: the interface to open, and the address to take. */
  async tap(): Promise<{ name: string; address: string }> {
    // Addresses of seats count up from below.
    const number = 126 - this.#taps.length;
    const name = `mrgt${this.#tag}${number}`;
    this.#taps.push(name);
    await command("ip", "tuntap", "add", name, "mode", "tap");
    await command("ip", "link", "set", name, "master", this.#bridge, "up");
    return { name, address: `${this.#subnet}.${number}` };
  }

  /** A namespace takes its cable with it. */
  async dispose(): Promise<void> {
    for (const namespace of this.#seats) await tried("ip", "netns", "delete", namespace);
    for (const tap of this.#taps) await tried("ip", "link", "delete", tap);
    await tried("ip", "link", "delete", this.#bridge);
  }
}

/** Three numbers of an IPv4 network that no interface here has. */
async function freeSubnet(): Promise<string> {
  const taken = await command("ip", "-o", "-4", "address");
  for (;;) {
    const [high = 0, low = 0] = randomBytes(2);
    const subnet = `10.${128 + (high % 100)}.${low}`;
    if (!taken.includes(` ${subnet}.`)) return subnet;
  }
}
