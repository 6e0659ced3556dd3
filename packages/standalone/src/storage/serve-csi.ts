import { createServer, type ServerOptions, type Services } from "@mooring/csi";
import type { Running } from "./parts.ts";
import { stopped } from "./until-stopped.ts";

/** CSI services as a part: served on the socket until the signal. */
export async function serveCsi(
  services: Services,
  options: ServerOptions,
  signal: AbortSignal,
): Promise<Running> {
  const server = createServer(services, options);
  await server.start();
  return { done: stopped(signal).then(() => server.stop()) };
}
