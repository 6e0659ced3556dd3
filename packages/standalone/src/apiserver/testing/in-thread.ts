import { join } from "node:path";
import { defined, type LocalStore, type Logger } from "@mooring/store";
import type { KindChanges } from "../../crd/index.ts";
import { serveLocalStreams } from "../../node-streams/serve.ts";
import type { KubeletStreams } from "../api.ts";
import { ServiceAccountTokens } from "../auth/service-account.ts";
import { measureProcess } from "../server/metrics.ts";
import type { ApiServer } from "../start.ts";
import { ApiThread, type ServingThread } from "../thread/start.ts";

/** What a server in a thread works with. */
export interface InThreadOptions {
  store: LocalStore;
  changes: KindChanges;
  stateDir: string;
  kubelet?: KubeletStreams;
  logger: Logger;
  signal: AbortSignal;
  /** The thread's program. */
  program?: string;
}

/** An API server as `mooring up` has it: in a thread of its own. Its node is "here". */
export async function startInThread(options: InThreadOptions): Promise<ApiServer & ServingThread> {
  const { store, changes, stateDir, kubelet, logger, signal, program } = options;
  const { measure, stop } = measureProcess();
  const end = new AbortController();
  const thread = new ApiThread({
    ...{ store, changes, logger, measure, signal: end.signal },
    ...defined({ program }),
  });
  const socketPath = join(stateDir, "pods.sock");
  const streams = kubelet && (await serveLocalStreams({ socketPath, kubelet, logger, signal }));
  const server = await thread.serve(
    { listen: "127.0.0.1:0", stateDir, nodeName: "here", kubelet: socketPath },
    signal,
  );
  const tokens = await ServiceAccountTokens.open(store, join(stateDir, "pki", "service-accounts.key"));
  const stopped = async () => {
    await server.done;
    stop();
    await streams?.done;
    end.abort();
    await thread.done;
  };
  return { ...server, tokens, done: stopped() };
}
