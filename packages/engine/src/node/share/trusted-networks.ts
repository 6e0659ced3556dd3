import { BlockList, isIPv4 } from "node:net";
import { EngineError } from "../../errors.ts";

const PREFIX = /^(?:3[0-2]|[12]?[0-9])$/;

/** Networks that an operator has named as trusted: any machine with an address in them may send and listen there. */
export class TrustedNetworks {
  readonly #list = new BlockList();

  /** `networks`: like `10.0.0.0/24`. Throws INVALID_ARGUMENT for anything else. */
  constructor(networks: readonly string[] = []) {
    for (const text of networks) {
      const { address, prefix } = parseNetwork(text);
      this.#list.addSubnet(address, prefix);
    }
  }

  /** `address`: IPv4. */
  has(address: string): boolean {
    return this.#list.check(address);
  }
}

/**
 * The parts of `10.0.0.0/24`. Throws INVALID_ARGUMENT, also when the address has bits behind the prefix: one of them is
 * wrong.
 */
export function parseNetwork(text: string): { address: string; prefix: number } {
  const [address = "", length = "", more] = text.split("/");
  if (!isIPv4(address) || !PREFIX.test(length) || more !== undefined) {
    throw new EngineError("INVALID_ARGUMENT", `${text} is no IPv4 network`, {
      hint: "write it like 10.0.0.0/24",
    });
  }
  const prefix = Number(length);
  const first = firstOf(address, prefix);
  if (first !== address) {
    throw new EngineError("INVALID_ARGUMENT", `${text} is an address in a network`, {
      hint: `write the network: ${first}/${prefix}`,
    });
  }
  return { address, prefix };
}

function firstOf(address: string, prefix: number): string {
  const bits = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - prefix);
  const first = Math.floor(bits / size) * size;
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join(".");
}
