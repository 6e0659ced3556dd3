import { setMaxListeners } from "node:events";
import type { MessagePort } from "node:worker_threads";
import type { MetricFamily } from "@mooring/csi";
import { collectWhenIdle, defined, type Logger, ResourceRegistry, ThreadStore } from "@mooring/store";
import { registerBuiltins } from "../../builtin/index.ts";
import { createKindRegistry, type KindRegistry } from "../../kinds/kind-info.ts";
import { clusterStreams } from "../../node-streams/cluster-streams.ts";
import { localKubelet } from "../../node-streams/local-kubelet.ts";
import { startApiServer } from "../start.ts";
import { followKinds } from "./follow-kinds.ts";
import type { FromThread, ServeData, ThreadData, ToThread } from "./protocol.ts";
import { remoteLogger } from "./remote-logger.ts";

type Send = (message: FromThread) => void;

/** The thread of the API server: TLS, HTTP, and whatever is paid for by the bytes of those who ask. */
export function runThread(parent: MessagePort, { link, kinds: port }: ThreadData): void {
  const send: Send = (message) => parent.postMessage(message);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const registry = new ResourceRegistry();
  const own = createKindRegistry();
  registerBuiltins(registry, own);
  const { kinds, catchUp } = followKinds(port, registry, own);
  const store = new ThreadStore(link, { registry, epoch: catchUp });
  const measures = new Measures(send);
  const parts = { store, kinds, logger: remoteLogger(send), measures, send, signal: stop.signal };
  collectWhenIdle();
  parent.on("message", (message: ToThread) => {
    if (message.do === "stop") stop.abort();
    else if (message.do === "measured") measures.settle(message.id, message.families);
    else
      serve(message.options, parts).catch((error: NodeJS.ErrnoException & { hint?: string }) =>
        send({ is: "failed", error, code: error.code, hint: error.hint }),
      );
  });
}

interface ThreadParts {
  store: ThreadStore;
  kinds: KindRegistry;
  logger: Logger;
  measures: Measures;
  send: Send;
  signal: AbortSignal;
}

async function serve(
  { listen, stateDir, nodeName, kubelet, bounds }: ServeData,
  { store, kinds, logger, measures, send, signal }: ThreadParts,
): Promise<void> {
  const local = { socketPath: kubelet };
  const server = await startApiServer({
    ...{ store, kinds, listen, stateDir, logger, signal },
    ...defined({ bounds }),
    kubelet: clusterStreams({ store, nodeName, kubelet: localKubelet(local), local }),
    measure: () => measures.take(),
  });
  const { url, caPem, token, kubeconfig } = server;
  send({ is: "serving", url, caPem, token, kubeconfig });
  await server.done;
  store.close();
  send({ is: "stopped" });
}

/** What the process measures; it knows more of itself than one of its threads. */
class Measures {
  readonly #send: Send;
  readonly #waiting = new Map<number, (families: MetricFamily[]) => void>();
  #next = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  take(): Promise<MetricFamily[]> {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ is: "measuring", id });
    });
  }

  settle(id: number, families: MetricFamily[]): void {
    this.#waiting.get(id)?.(families);
    this.#waiting.delete(id);
  }
}
