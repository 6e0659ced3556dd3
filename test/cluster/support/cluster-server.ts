import { setMaxListeners } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type ObjectStore, RestStore, silentLogger } from "@mooring/store";
import { startTestServer } from "../../../packages/standalone/src/apiserver/testing/test-server.ts";
import { startBinder } from "../../../packages/standalone/src/controllers/binder/index.ts";
import { openClusterView } from "../../../packages/standalone/src/controllers/cluster-view.ts";
import { startProtection } from "../../../packages/standalone/src/controllers/protection/index.ts";
import { bundledCrds, installCrds } from "../../../packages/standalone/src/crd/index.ts";
import { Kubectl } from "../../support/kubectl.ts";

const RIGHTS = fileURLToPath(new URL("../../../deploy/manifests/rbac.yaml", import.meta.url));

/** An API server with Kubernetes' own controllers and Mooring's kinds and roles, and nothing of Mooring that runs. */
export interface ClusterServer {
  kubectl: Kubectl;
  /** With every right, for what only a kubelet may do. */
  store: ObjectStore;
  /**
   * Writes a kubeconfig with the rights of one of Mooring's service accounts, on a node if one is named; returns its path.
   */
  accountKubeconfig(account: string, path: string, node?: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Ours, in this process; or another one, to which `MOORING_CLUSTER_KUBECONFIG` leads to as an administrator, where
 * Mooring's kinds, roles and policies have been applied.
 */
export function clusterServer(): Promise<ClusterServer> {
  const other = process.env.MOORING_CLUSTER_KUBECONFIG;
  return other === undefined ? ours() : theirs(other);
}

async function theirs(kubeconfig: string): Promise<ClusterServer> {
  const store = await RestStore.fromKubeconfig(kubeconfig);
  const kubectl = new Kubectl(kubeconfig);
  const stopping = new AbortController();
  // Without a controller manager our binder has to bind claims.
  const parts =
    process.env.MOORING_CLUSTER_BINDS === undefined ? await startBinding(store, stopping.signal) : [];
  const stop = async () => {
    stopping.abort();
    await Promise.all(parts.map(({ done }) => done));
    store.close();
  };
  return { kubectl, store, accountKubeconfig: writer(kubectl), stop };
}

/** What a controller manager does for claims and volumes. */
async function startBinding(store: ObjectStore, signal: AbortSignal): Promise<{ done: Promise<void> }[]> {
  setMaxListeners(0, signal);
  const view = await openClusterView(store, { logger: silentLogger, signal });
  const common = { store, view, logger: silentLogger, signal };
  return [view, await startBinder(common), await startProtection(common)];
}

async function ours(): Promise<ClusterServer> {
  const server = await startTestServer();
  const { store, signal, api } = server;
  await installCrds(store, await bundledCrds());
  const parts = await startBinding(store, signal);
  const kubectl = new Kubectl(api.kubeconfig);
  await kubectl.run("create", "namespace", "mooring");
  await kubectl.apply(await readFile(RIGHTS, "utf8"));
  return {
    kubectl,
    store,
    accountKubeconfig: writer(kubectl),
    stop: async () => {
      await server.stop();
      await Promise.all(parts.map(({ done }) => done));
    },
  };
}

/** Tokens of nodes say which node they are for, as those of a pod on it do. */
function writer(kubectl: Kubectl): ClusterServer["accountKubeconfig"] {
  return async (account, path, node) => {
    const bound = node === undefined ? [] : ["--bound-object-kind=Node", `--bound-object-name=${node}`];
    const token = await kubectl.run("-n", "mooring", "create", "token", account, "--duration=2h", ...bound);
    const { server, ca } = await clusterOf(kubectl);
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": ca } }],
      users: [{ name: "u", user: { token: token.trim() } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    };
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  };
}

async function clusterOf(kubectl: Kubectl): Promise<{ server: string; ca: string }> {
  const text = await kubectl.run("config", "view", "--raw", "--flatten", "--minify", "-o", "json");
  const { clusters } = JSON.parse(text) as {
    clusters: { cluster: { server: string; "certificate-authority-data": string } }[];
  };
  const { server = "", "certificate-authority-data": ca = "" } = clusters[0]?.cluster ?? {};
  return { server, ca };
}
