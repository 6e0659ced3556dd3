import { setMaxListeners } from "node:events";
import {
  armFailpoint,
  ConfigMaps,
  getIfAny,
  isAlreadyExists,
  type KubeObject,
  LocalStore,
  type Logger,
  type Resource,
  ResourceRegistry,
  silentLogger,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { ensureDefaultNamespaces } from "../../apiserver/server/default-namespaces.ts";
import { registerBuiltins } from "../../builtin/index.ts";
import { createKindRegistry } from "../../kinds/kind-info.ts";

/** A store of the built-in kinds, with its namespaces; `path` may be of an earlier life. */
export async function openControllerStore(path: string) {
  const registry = new ResourceRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  const store = await LocalStore.open({ path, registry, requireNamespaces: true });
  await ensureDefaultNamespaces(store);
  return { store, kinds, registry };
}

/** One life of controllers, in a program that a test may kill. */
export interface StoryLife {
  readonly store: LocalStore;
  readonly kinds: ReturnType<typeof createKindRegistry>;
  readonly registry: ResourceRegistry;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Creates it, unless an earlier life has. */
  ensure<T extends KubeObject>(resource: Resource<T>, object: T): Promise<void>;
  /**
   * Does a part of the story, and marks it as done: later lives leave it out. A life that is killed before the mark does
   * it again.
   */
  once(part: string, work: () => Promise<unknown>): Promise<void>;
  /** Ends these parts and the store, and prints the failpoints that the life has passed. */
  end(parts: readonly { done: Promise<unknown> }[]): Promise<void>;
}

/** Begins a life over the store in the folder that the program is given. */
export async function beginStoryLife(): Promise<StoryLife> {
  const passed = armFailpoint(process.env["MOORING_FAILPOINT"]);
  const [path = ""] = process.argv.slice(2);
  const { store, kinds, registry } = await openControllerStore(path);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  return {
    ...{ store, kinds, registry, logger: silentLogger, signal: stopping.signal },
    async ensure(resource, object) {
      await store.create(resource, object).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    },
    async once(part, work) {
      const metadata = { namespace: "kube-system", name: `story-${part}` };
      if ((await getIfAny(store, ConfigMaps, metadata)) !== undefined) return;
      await work();
      await store.create(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata });
    },
    async end(parts) {
      await nothingSleeps({ store });
      stopping.abort();
      await Promise.all(parts.map(({ done }) => done));
      await store.close();
      process.stdout.write(JSON.stringify([...new Set(passed)]));
    },
  };
}
