import { DRIVER_NAME } from "@mooring/engine";
import { managedBy } from "@mooring/store";
import type { ClusterView } from "../controllers/cluster-view.ts";
import { startKubelet } from "../kubelet/index.ts";
import { createProcessRuntime } from "../runtime/index.ts";
import type { StartedApi } from "./api.ts";
import type { Starting } from "./start.ts";

/** The kubelet of this machine, and the runtime that its pods' processes live in. */
export async function startNode(starting: Starting, view: ClusterView, api: StartedApi): Promise<void> {
  const { options, folder, store, parts, logger } = starting;
  const runtime = await createProcessRuntime({ stateDir: folder.kubelet, hidden: [folder.root], logger });
  const kubelet = await parts.start("kubelet", (signal) =>
    startKubelet({
      store: managedBy(store, "kubelet"),
      view,
      nodeName: options.nodeName,
      stateDir: folder.kubelet,
      csiEndpoints: { [DRIVER_NAME]: `unix://${folder.socket}` },
      runtime,
      logger,
      signal,
    }),
  );
  api.serveLogs(kubelet);
}
