import { CommandError } from "../output/command-error.ts";

/** `127.0.0.1:6443`, `[::1]:6443`, `:6443` (loopback); port 0 takes a free one. */
export function listenAddress(option: string, text: string, example: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) {
    throw new CommandError(`${option} ${text} is not an address`, { next: `write it like ${example}` });
  }
  return { host: match[1] || match[2] || "127.0.0.1", port };
}
