import { existsSync } from "node:fs";
import { certificateOf, JoinError, joinCluster, nodeKubeconfig } from "@mooring/standalone";
import type { RestStore } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { type ClientOptions, openClient, openCluster } from "./client.ts";

/** How a node reaches its API server the first time: by a token, or by a kubeconfig. */
export interface JoinOptions extends ClientOptions {
  /** `https://host:port` */
  join?: string;
  token?: string;
  stateDir: string;
}

/** Whom this machine talks to, and as whom. */
interface NodeClient {
  store: RestStore;
  /** It has a credential of its own, which has to be renewed. */
  joined: boolean;
}

/**
 * The API server of a node: by the credential that it has below its state folder, which it joins for when it has none and
 * was given a token, or by a kubeconfig that the user names.
 */
export async function openNodeClient(
  options: JoinOptions,
  nodeName: string,
  taints: readonly object[],
): Promise<NodeClient> {
  const own = nodeKubeconfig(options.stateDir);
  const { join, stateDir } = options;
  if (join !== undefined && !existsSync(own)) await joinWith(options, nodeName, taints);
  if (options.kubeconfig !== undefined && join === undefined)
    return { store: await openCluster(options), joined: false };
  if (!existsSync(own)) return { store: await openCluster(options), joined: false };
  const known = await certificateOf(own);
  if (known !== undefined && known.nodeName !== nodeName) {
    throw new CommandError(`${stateDir} is the state of node ${known.nodeName}, not of ${nodeName}`, {
      next: `start it with --node-name ${known.nodeName}, or use another --state-dir`,
    });
  }
  return { store: await openClient({ kubeconfig: own }), joined: true };
}

async function joinWith(
  { join, token, stateDir }: Pick<JoinOptions, "join" | "token" | "stateDir">,
  nodeName: string,
  taints: readonly object[],
): Promise<void> {
  const next = "make a token on the first machine: mooring token create";
  if (token === undefined) throw new CommandError("--join needs a --token", { next });
  const server = /^\w+:\/\//.test(join ?? "") ? (join ?? "") : `https://${join}`;
  if (!server.startsWith("https://") || !URL.canParse(server))
    throw new CommandError(`--join ${join} is not an address`, {
      next: "write it like https://10.0.0.5:6443",
    });
  try {
    await joinCluster({ server: server.replace(/\/+$/, ""), nodeName, taints }, token, stateDir);
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    throw new CommandError(error.message, { next });
  }
}
