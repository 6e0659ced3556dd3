import { LocalStore, ResourceRegistry } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { registerBuiltins } from "../../builtin/index.ts";
import { createKindRegistry, type MutableKindRegistry } from "../../kinds/kind-info.ts";
import { startCrdController } from "../controller/index.ts";

export interface TestCluster {
  store: LocalStore;
  registry: ResourceRegistry;
  kinds: MutableKindRegistry;
  stop(): Promise<void>;
}

/** A store with the built-in kinds and a CRD controller, in an existing folder. */
export async function startTestCluster(path: string): Promise<TestCluster> {
  const registry = new ResourceRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  const store = await LocalStore.open({ path, registry });
  const stopping = new AbortController();
  const { done } = await startCrdController({ store, registry, kinds, signal: stopping.signal });
  return {
    store,
    registry,
    kinds,
    stop: () =>
      endAtRest(
        async () => {
          stopping.abort();
          await done;
          await store.close();
        },
        { store },
      ),
  };
}
