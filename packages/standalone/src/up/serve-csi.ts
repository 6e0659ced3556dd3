import { type CsiServer, createServer, type Services } from "@mooring/csi";
import type { Logger } from "@mooring/store";
import type { Running } from "./parts.ts";

/** CSI services as a part: served on the socket until the signal. */
export async function serveCsi(
  services: Services,
  endpoint: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<Running> {
  const server: CsiServer = createServer(services, { endpoint, logger });
  await server.start();
  const done = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  }).then(() => server.stop());
  return { done };
}
