import { networkInterfaces } from "node:os";

/** The first IPv4 address by which other machines reach this one; 127.0.0.1 where there is none. */
export function nodeAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.0.0.1";
}
