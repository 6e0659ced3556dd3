import { once } from "node:events";
import { connect } from "node:net";
import { within } from "@mooring/store";

const CONNECT_MS = 30_000;

/**
 * The address of this machine from which it reaches a server: what the server can reach it by, and nothing more than
 * that. The loopback when the server is on it. `url`: `https://host:port`.
 */
export async function addressTowards(url: string, signal: AbortSignal): Promise<string> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const socket = connect({ host, port: Number(port) || (protocol === "http:" ? 80 : 443) });
  try {
    await within(CONNECT_MS, signal, (limit) => once(socket, "connect", { signal: limit }));
    const { localAddress } = socket;
    if (localAddress === undefined) throw new Error(`cannot find from which address ${url} is reached`);
    return localAddress;
  } finally {
    socket.destroy();
  }
}
