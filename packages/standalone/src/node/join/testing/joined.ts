import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RestStore } from "@mooring/store";
import { authorityHash } from "../../../apiserver/join/handle.ts";
import { createJoinToken } from "../../../apiserver/join/tokens.ts";
import type { TestServer } from "../../../apiserver/testing/test-server.ts";
import { nodeKubeconfig } from "../credential.ts";
import { joinCluster } from "../join.ts";

const HOUR_MS = 3600_000;

/** A folder for the state of a node. */
export const stateFolder = () => mkdtemp(join(tmpdir(), "mooring-join-"));

/** A join token of this server, good for an hour where nothing else is said. */
export function joinToken(
  { api, store }: TestServer,
  options: { expires?: Date; nodeName?: string } = {},
): Promise<string> {
  const expires = new Date(Date.now() + HOUR_MS);
  return createJoinToken(store, { authority: authorityHash(api.caPem), expires, ...options });
}

/** A node that has joined, and a client with its credential. */
export async function joinedNode(
  server: TestServer,
  nodeName: string,
): Promise<{ stateDir: string; store: RestStore }> {
  const stateDir = await stateFolder();
  await joinCluster({ server: server.api.url, nodeName }, await joinToken(server), stateDir);
  return { stateDir, store: await RestStore.fromKubeconfig(nodeKubeconfig(stateDir)) };
}
