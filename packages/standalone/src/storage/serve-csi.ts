import { createServer, type ServerOptions, type Services } from "@mooring/csi";
import type { Running } from "./parts.ts";

/** CSI services as a part: served on the socket until the signal. */
export async function serveCsi(
  services: Services,
  options: ServerOptions,
  signal: AbortSignal,
): Promise<Running> {
  const server = createServer(services, options);
  await server.start();
  const done = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  }).then(() => server.stop());
  return { done };
}
