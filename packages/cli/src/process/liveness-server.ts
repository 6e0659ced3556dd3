import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, inItsVersion, probeUntilReady } from "@mooring/csi";
import type { Logger } from "pino";
import { listenAddress } from "../options/listen-address.ts";
import { listenFailure } from "./listen-failure.ts";
import type { MetricsEndpoint } from "./metrics-server.ts";

const OPTION = "--liveness-listen";
/** A driver that takes longer to respond to a probe does not live. */
const PROBE_MS = 3_000;

/** Which drivers are asked. */
export interface Probed {
  endpoints: readonly string[];
  /** Of the driver that is called so; undefined: none has said so yet. */
  endpointOf: (driver: string) => string | undefined;
}

/**
 * Serves `/healthz`, as livenessprobe does: 200 when every driver responds to Probe that it is ready, else 500 with what is wrong, and
 * `/healthz/DRIVER` for one alone, so that a container is not restarted for another one's driver.
 * Every request is a probe on a connection of its own, so no client reads of an older state. Throws CommandError.
 */
export async function startLivenessServer(
  address: string,
  probed: Probed,
  logger: Logger,
): Promise<MetricsEndpoint> {
  const { host, port } = listenAddress(OPTION, address, "127.0.0.1:9808");
  const server = createServer((request, response) => {
    const [, driver] = PATH.exec(request.url ?? "") ?? [];
    if (driver === undefined) return void response.writeHead(404).end();
    if (request.method !== "GET" && request.method !== "HEAD")
      return void response.writeHead(405, { allow: "GET, HEAD" }).end();
    const headers = { "content-type": "text/plain; charset=utf-8" };
    probeAll(probed, driver.slice(1)).then(
      () => response.writeHead(200, headers).end("ok\n"),
      (error: Error) => {
        logger.warn({ error: error.message }, "the driver failed the liveness probe");
        response.writeHead(500, headers).end(`${error.message}\n`);
      },
    );
  });
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    throw listenFailure(OPTION, address, error);
  }
  logger.info({ host, port: (server.address() as AddressInfo).port }, "serving liveness");
  return {
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** `/healthz`, or `/healthz/DRIVER`. */
const PATH = /^\/healthz(|\/[^/?]+)(?:\?.*)?$/;

/** `driver`: its name, empty for all. Rejects with what is wrong, a line for each. */
async function probeAll({ endpoints, endpointOf }: Probed, driver: string): Promise<void> {
  const own = endpointOf(driver);
  if (driver !== "" && own === undefined) throw new Error(`no driver has reported yet that it is ${driver}`);
  const failed: string[] = [];
  const ask = (endpoint: string) =>
    probe(endpoint).catch(({ message }: Error) => failed.push(`${endpoint}: ${message}`));
  await Promise.all((own === undefined ? endpoints : [own]).map(ask));
  if (failed.length > 0) throw new Error(failed.sort().join("\n"));
}

async function probe(endpoint: string): Promise<void> {
  const channel = await connect(endpoint);
  try {
    const client = await inItsVersion(channel, { timeoutMs: PROBE_MS });
    await probeUntilReady(client, { timeoutMs: PROBE_MS, intervalMs: PROBE_MS });
  } finally {
    channel.close();
  }
}
