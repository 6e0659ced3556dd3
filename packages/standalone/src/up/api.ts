import type { KubeletLogs } from "../apiserver/index.ts";
import { type ApiServer, startApiServer } from "../apiserver/start.ts";
import { bundledCrds, installCrds, startCrdController } from "../crd/index.ts";
import type { Starting } from "./start.ts";

export interface StartedApi extends ApiServer {
  /** Says who has the pods' logs; until then they are "not available yet". */
  serveLogs(kubelet: KubeletLogs): void;
}

/** Logs are asked of a kubelet that starts later than the server. */
function lateLogs(): KubeletLogs & { kubelet?: KubeletLogs } {
  const late: KubeletLogs & { kubelet?: KubeletLogs } = {
    logs(request) {
      if (late.kubelet === undefined) throw new Error("the kubelet has not started yet");
      return late.kubelet.logs(request);
    },
  };
  return late;
}

/** The API server with all kinds: built in, and those of our definitions. */
export async function startApi({
  options,
  folder,
  registry,
  kinds,
  store,
  parts,
  logger,
  calls,
}: Starting): Promise<StartedApi> {
  const { host, port } = options.listen;
  const late = lateLogs();
  await parts.start("definitions", (signal) =>
    startCrdController({ store, registry, kinds, logger, signal }),
  );
  await installCrds(store, await bundledCrds());
  const server = await parts.start("API server", (signal) =>
    startApiServer({
      store,
      kinds,
      listen: `${host.includes(":") ? `[${host}]` : host}:${port}`,
      stateDir: folder.root,
      logger,
      signal,
      kubelet: late,
      metrics: calls.families,
    }),
  );
  return {
    ...server,
    serveLogs: (kubelet) => {
      late.kubelet = kubelet;
    },
  };
}
