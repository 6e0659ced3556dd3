import { DRIVER_NAME } from "@mooring/engine";
import type { ControllerName } from "@mooring/sidecars";
import { defined, type Logger, managedBy, type ObjectStore } from "@mooring/store";
import type { ClusterView } from "../controllers/cluster-view.ts";
import { type Kubelet, startKubelet } from "../kubelet/index.ts";
import type { NodeSettings } from "../kubelet/node/node-object.ts";
import type { IssueToken } from "../kubelet/volumes/tokens.ts";
import { createProcessRuntime } from "../runtime/index.ts";
import { startDriverHost } from "../storage/driver-host.ts";
import type { Parts } from "../storage/parts.ts";
import type { StateFolder } from "./state-folder.ts";

interface NodePart {
  /** Of the API server, wherever that is. */
  store: ObjectStore;
  nodeName: string;
  settings?: NodeSettings;
  folder: StateFolder;
  parts: Parts;
  logger: Logger;
  /** Shared with controllers in the same process; absent: the kubelet opens its own. */
  view?: ClusterView;
  /** Which controllers drivers get that register themselves here; default: all that they can have. */
  driverControllers?: readonly ControllerName[];
  /** Signs tokens, or has the API server do it. */
  issueToken?: IssueToken;
}

/** The kubelet of this machine, and the runtime that its pods' processes live in. */
export async function startNode(node: NodePart): Promise<Kubelet> {
  const { store, nodeName, settings, folder, parts, logger, view, issueToken, driverControllers } = node;
  const { host } = parts;
  // Before the kubelet, which needs them until it has released the last volume.
  const driverHost = await parts.start("drivers of others", async (signal) =>
    startDriverHost({ store, nodeName, logger, signal, ...defined({ controllers: driverControllers }) }),
  );
  const runtime = await createProcessRuntime({
    stateDir: folder.kubelet,
    hidden: [folder.root],
    logger,
    host,
  });
  return parts.start("kubelet", (signal) =>
    startKubelet({
      store: managedBy(store, "kubelet"),
      ...defined({ view, settings, issueToken }),
      nodeName,
      stateDir: folder.kubelet,
      csiEndpoints: { [DRIVER_NAME]: `unix://${folder.socket}` },
      ...{ runtime, logger, host, driverHost },
      signal,
    }),
  );
}
