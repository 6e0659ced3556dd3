import { parseNetwork } from "@mooring/engine";
import { InvalidArgumentError, Option } from "commander";

/** `--trusted-network 10.0.0.0/24`, as often as there are networks. */
export function trustedNetworkOption(): Option {
  return new Option(
    "--trusted-network <network>",
    "a network like 10.0.0.0/24 over which nodes may share volumes unencrypted; repeatable; the same on every node",
  )
    .default([] as string[], "none")
    .argParser((text: string, before: string[]) => [...before, network(text)]);
}

function network(text: string): string {
  try {
    parseNetwork(text);
    return text;
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    throw new InvalidArgumentError(`${message}; ${hint ?? "write it like 10.0.0.0/24"}.`);
  }
}
