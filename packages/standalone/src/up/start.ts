import { callMetrics } from "@mooring/csi";
import { DRIVER_NAME, newestRevisionFile } from "@mooring/engine";
import { defined, LocalStore, ResourceRegistry, startStateCopies } from "@mooring/store";
import { registerBuiltins } from "../builtin/index.ts";
import { KindChanges } from "../crd/index.ts";
import { createKindRegistry } from "../kinds/kind-info.ts";
import type { IssueToken } from "../kubelet/volumes/tokens.ts";
import { Parts } from "../storage/parts.ts";
import { failure, untilStopped } from "../storage/until-stopped.ts";
import { startApi } from "./api.ts";
import { claimMetrics } from "./claim-metrics.ts";
import { startControllers, watchNodes } from "./controllers.ts";
import { ensureClasses } from "./default-objects.ts";
import { startNode } from "./node.ts";
import type { Standalone, StandaloneOptions } from "./options.ts";
import type { Starting } from "./starting.ts";
import { openStateFolder, remainsOf } from "./state-folder.ts";
import { startStorage } from "./storage.ts";

/**
 * One machine without Kubernetes: everything from the API server to the processes of pods. Resolves when it is ready.
 * Throws a StoreOpenError when another process has the state folder.
 */
export async function startStandalone(options: StandaloneOptions): Promise<Standalone> {
  const { logger, signal } = options;
  const folder = await openStateFolder(options.stateDir);
  const registry = new ResourceRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  const evidence = () => remainsOf(folder.root);
  const path = folder.store;
  const { onLost } = options;
  const newest = newestRevisionFile(folder.root);
  const keeping = { requireNamespaces: true, headroom: true, ...defined({ onLost }) };
  const store = await LocalStore.open({ path, registry, evidence, newest, ...keeping });
  const { failed, fail } = failure();
  const parts = new Parts(logger, fail);
  const calls = callMetrics({ driverName: DRIVER_NAME });
  const changes = new KindChanges();
  const starting: Starting = { options, folder, registry, kinds, changes, store, parts, logger, calls };
  const stop = async (): Promise<void> => {
    await parts.stop();
    await store.close();
  };
  try {
    await options.onOwned?.();
    const copies = { store, stateDir: folder.root, logger };
    await parts.start("state copies", async (signal) => startStateCopies({ ...copies, signal }));
    const api = await startApi(starting);
    await ensureClasses(store);
    const view = await startControllers(starting, api.caPem);
    await startStorage(starting);
    const issueToken: IssueToken = (order, now) => api.tokens.issue(order, now);
    const { nodeName } = options;
    const kubelet = await startNode({
      ...{ ...starting, nodeName, view, issueToken },
      ...(options.driverControllers ? {} : { driverControllers: ["node-registration"] }),
    });
    await watchNodes(starting, view);
    api.serveStreams(kubelet);
    api.measureVolumes(() => claimMetrics({ store, nodes: view.nodes, nodeName, kubelet, signal }));
    return { url: api.url, kubeconfig: api.kubeconfig, done: untilStopped(signal, failed).finally(stop) };
  } catch (error) {
    await stop();
    throw error;
  }
}
