import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type ConnectOptions,
  type CsiClient,
  CsiError,
  type CsiServer,
  connect,
  createServer,
  type ServerOptions,
  type Services,
  v1,
} from "../index.ts";

/** A server on a socket of its own and a client of it; both are gone when the test is over. */
export interface Pair {
  server: CsiServer;
  client: CsiClient;
  endpoint: string;
  path: string;
}

/** A socket path that is removed with its folder when the test is over. */
export async function socketFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "csi-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "csi.sock");
}

/** Serves handlers and connects to them. */
export async function pair(
  t: TestContext,
  services: Services,
  options: Partial<ServerOptions> & { client?: ConnectOptions } = {},
): Promise<Pair> {
  const path = await socketFor(t);
  const endpoint = `unix://${path}`;
  const server = createServer(services, { endpoint, ...options });
  await server.start();
  const client = await connect(endpoint, options.client);
  t.after(async () => {
    client.close();
    await server.stop(0);
  });
  return { server, client, endpoint, path };
}

/** For `assert.rejects`: a `CsiError` with this code, and optionally a message that matches. */
export function fails(codeName: string, message = /./): (error: unknown) => boolean {
  return (error) => error instanceof CsiError && error.codeName === codeName && message.test(error.message);
}

/** A promise and its settling, for handlers that a test blocks. */
export function gate<T = void>(): { open: (value: T) => void; promise: Promise<T> } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, promise };
}

/** A mounted volume, written on one node. */
export const mounted = {
  accessType: { case: "mount" as const, value: {} },
  accessMode: { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};
