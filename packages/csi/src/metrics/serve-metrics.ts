import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { METRICS_CONTENT_TYPE, type MetricFamily, metricsText } from "./text.ts";

/** A running endpoint. */
export interface MetricsServer {
  /** The port that was taken. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics` on an address, with what `families` gives at that moment. There is no authentication: choose
 * a loopback address unless the network is trusted. Port 0 takes a free one. Throws when the address cannot be had.
 */
export async function serveMetrics(
  { host, port }: { host: string; port: number },
  families: () => readonly MetricFamily[],
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split("?", 1)[0];
    if (path !== "/metrics") return void response.writeHead(404).end();
    if (request.method !== "GET" && request.method !== "HEAD") {
      return void response.writeHead(405, { allow: "GET, HEAD" }).end();
    }
    response.writeHead(200, { "content-type": METRICS_CONTENT_TYPE }).end(metricsText(families()));
  });
  server.listen(port, host);
  await once(server, "listening");
  const close = async (): Promise<void> => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { port: (server.address() as AddressInfo).port, close };
}
