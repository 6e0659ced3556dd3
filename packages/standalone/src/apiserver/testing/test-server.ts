import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  defined,
  LocalStore,
  type LocalStoreOptions,
  type Logger,
  ResourceRegistry,
  silentLogger,
} from "@mooring/store";
import { currentPart, nothingSleeps } from "@mooring/store/testing";
import { registerBuiltins } from "../../builtin/index.ts";
import { startGarbageCollector } from "../../controllers/garbage-collector/index.ts";
import { startNamespaceController } from "../../controllers/namespace/index.ts";
import { startRoleAggregation } from "../../controllers/role-aggregation/index.ts";
import { KindChanges, startCrdController } from "../../crd/index.ts";
import { createKindRegistry, type MutableKindRegistry } from "../../kinds/kind-info.ts";
import type { KubeletStreams } from "../api.ts";
import { type ApiServer, startApiServer } from "../start.ts";
import { HttpClient } from "./http-client.ts";
import { startInThread } from "./in-thread.ts";

export interface TestServer {
  store: LocalStore;
  registry: ResourceRegistry;
  kinds: MutableKindRegistry;
  /** `streams`: of a server in a thread, the lists and watches that it has open in the store. */
  api: ApiServer & { streams?(): number };
  http: HttpClient;
  /** Removed at the end. */
  folder: string;
  signal: AbortSignal;
  stop(): Promise<void>;
}

export interface TestServerOptions {
  kubelet?: KubeletStreams;
  history?: LocalStoreOptions["history"];
  /** Default true: the controllers of CRDs, garbage and namespaces. */
  controllers?: boolean;
  logger?: Logger;
  /**
   * The server runs in a thread of its own, as in `mooring up`, where this is true, or has that thread's program. Default: not
   * in the tests of every day, which `test/e2e` goes through with the thread, but in all others.
   */
  thread?: boolean | string;
  /** Of a server that has no thread: milliseconds that a request may take. */
  requestMs?: number;
}

/** An API server with the built-in kinds on a free port and in a temporary folder. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { logger = silentLogger, kubelet, history, controllers = true, requestMs } = options;
  const thread = options.thread ?? currentPart() !== "everyday";
  const folder = await mkdtemp(join(tmpdir(), "mooring-apiserver-"));
  const registry = new ResourceRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  const stopping = new AbortController();
  const { signal } = stopping;
  setMaxListeners(0, signal);
  const store = await LocalStore.open({
    path: join(folder, "store"),
    requireNamespaces: true,
    registry,
    ...defined({ history }),
  });
  const common = { store, kinds, logger, signal };
  const changes = new KindChanges();
  const program = typeof thread === "string" ? thread : undefined;
  const api: TestServer["api"] = thread
    ? await startInThread({ ...common, changes, stateDir: folder, ...defined({ kubelet, program }) })
    : await startApiServer({
        ...{ ...common, listen: "127.0.0.1:0", stateDir: folder },
        ...defined({ kubelet, requestMs }),
      });
  const parts: { done: Promise<void> }[] = [api];
  if (controllers) {
    parts.push(await startCrdController({ ...common, registry, changes }));
    parts.push(await startGarbageCollector(common));
    parts.push(await startRoleAggregation(common));
    parts.push(await startNamespaceController({ ...common, caPem: api.caPem }));
  }
  const http = new HttpClient(api);
  return {
    store,
    registry,
    kinds,
    api,
    http,
    folder,
    signal,
    async stop() {
      http.close();
      try {
        await nothingSleeps();
      } finally {
        stopping.abort();
        await Promise.all(parts.map(({ done }) => done));
        await store.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}
