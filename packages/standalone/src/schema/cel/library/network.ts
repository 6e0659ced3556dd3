import { BlockList, isIP } from "node:net";
import type { Environment } from "@marcbachmann/cel-js";
import { hasFormat } from "../../formats.ts";

class Address {
  readonly text: string;
  readonly family: "ipv4" | "ipv6";
  constructor(text: string) {
    const version = isIP(text);
    if (version === 0) throw new Error(`IP Address ${JSON.stringify(text)} parse error`);
    this.text = text;
    this.family = version === 4 ? "ipv4" : "ipv6";
  }
}

class Network {
  readonly address: Address;
  readonly bits: number;
  readonly #block = new BlockList();
  constructor(text: string) {
    if (!hasFormat("cidr", text)) throw new Error(`network address ${JSON.stringify(text)} parse error`);
    const [address = "", bits = ""] = text.split("/");
    this.address = new Address(address);
    this.bits = Number(bits);
    this.#block.addSubnet(address, this.bits, this.address.family);
  }
  contains(other: Address): boolean {
    return other.family === this.address.family && this.#block.check(other.text, other.family);
  }
}

const LOOPBACK = ["127.0.0.0/8", "::1/128"].map((net) => new Network(net));
const LINK_LOCAL = ["169.254.0.0/16", "fe80::/10"].map((net) => new Network(net));
const within = (nets: Network[], ip: Address): boolean => nets.some((net) => net.contains(ip));

/** Kubernetes' url, ip and cidr libraries. */
export function registerNetwork(env: Environment): void {
  env
    .registerType("URL", URL)
    .registerFunction("isURL(string): bool", (text: string) => URL.canParse(text))
    .registerFunction("url(string): URL", (text: string) => new URL(text))
    .registerFunction("URL.getScheme(): string", (url: URL) => url.protocol.replace(/:$/, ""))
    .registerFunction("URL.getHost(): string", (url: URL) => url.host)
    .registerFunction("URL.getHostname(): string", (url: URL) => url.hostname.replace(/^\[|\]$/g, ""))
    .registerFunction("URL.getPort(): string", (url: URL) => url.port)
    .registerFunction("URL.getEscapedPath(): string", (url: URL) => url.pathname)
    .registerFunction("URL.getQuery(): map<string, dyn>", (url: URL) => queryOf(url))
    .registerType("IP", Address)
    .registerFunction("isIP(string): bool", (text: string) => isIP(text) !== 0)
    .registerFunction("ip(string): IP", (text: string) => new Address(text))
    .registerFunction("IP.family(): int", (ip: Address) => (ip.family === "ipv4" ? 4n : 6n))
    .registerFunction("IP.isUnspecified(): bool", (ip: Address) => ["0.0.0.0", "::"].includes(ip.text))
    .registerFunction("IP.isLoopback(): bool", (ip: Address) => within(LOOPBACK, ip))
    .registerFunction("IP.isLinkLocalUnicast(): bool", (ip: Address) => within(LINK_LOCAL, ip))
    .registerType("CIDR", Network)
    .registerFunction("isCIDR(string): bool", (text: string) => hasFormat("cidr", text))
    .registerFunction("cidr(string): CIDR", (text: string) => new Network(text))
    .registerFunction("CIDR.containsIP(string): bool", (net: Network, text: string) =>
      net.contains(new Address(text)),
    )
    .registerFunction("CIDR.containsIP(IP): bool", (net: Network, ip: Address) => net.contains(ip))
    .registerFunction("CIDR.prefixLength(): int", (net: Network) => BigInt(net.bits))
    .registerFunction("CIDR.ip(): IP", (net: Network) => net.address);
}

function queryOf(url: URL): Record<string, string[]> {
  const query = new Map<string, string[]>();
  for (const [key, value] of url.searchParams) {
    const values = query.get(key);
    if (values === undefined) query.set(key, [value]);
    else values.push(value);
  }
  return Object.fromEntries(query);
}
