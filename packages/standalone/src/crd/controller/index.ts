import {
  createInformer,
  type Informer,
  isConflict,
  isNotFound,
  type Logger,
  type ObjectStore,
  Reconciler,
  type ResourceRegistry,
  silentLogger,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { MutableKindRegistry } from "../../kinds/kind-info.ts";
import type { KindChanges } from "../kind-changes.ts";
import { type CustomResourceDefinition, CustomResourceDefinitions } from "../types.ts";
import { isEstablished } from "../validate-definition.ts";
import { applyStep } from "./apply.ts";
import { type DefinitionStep, type DefinitionView, decideDefinition } from "./decide.ts";
import { readDefinition } from "./read.ts";
import { ServedKinds } from "./served-kinds.ts";

const failpoints = stepFailpoints<DefinitionStep>("standalone/crd", {
  serve: true,
  "write-status": true,
  "mark-terminating": true,
  freeze: true,
  "delete-objects": true,
  release: true,
});

/** What the controller is started with. */
export interface CrdControllerOptions {
  store: ObjectStore;
  registry: ResourceRegistry;
  /** The API server's; absent when there is none. */
  kinds?: MutableKindRegistry;
  /** Is notified of what is served. */
  changes?: KindChanges;
  logger?: Logger;
  signal: AbortSignal;
}

/**
 * Serves the kinds of CustomResourceDefinitions. Resolves when every kind that is established already is served;
 * `done` settles when the controller has stopped.
 */
export async function startCrdController(options: CrdControllerOptions): Promise<{ done: Promise<void> }> {
  const { store, registry, kinds, changes, logger = silentLogger, signal } = options;
  const indexers = { group: ({ spec }: CustomResourceDefinition) => [spec.group] };
  const informer = createInformer(store, CustomResourceDefinitions, { indexers, logger });
  const informing = informer.run(signal);
  await informer.synced(signal);
  const served = new ServedKinds(registry, kinds, changes);
  for (const crd of informer.list()) if (isEstablished(crd)) served.serve(crd);
  const running = reconcilerOf({ store, informer, served, logger, signal }).run(signal);
  return { done: Promise.all([informing, running]).then(() => {}) };
}

interface Parts {
  store: ObjectStore;
  informer: Informer<CustomResourceDefinition>;
  served: ServedKinds;
  logger: Logger;
  signal: AbortSignal;
}

function reconcilerOf({ store, informer, served, logger, signal }: Parts) {
  const context = { store, definitions: new WrittenCache(store, informer), served, signal };
  // At once: what asks for a kind whose definition is gone is not to wait for its turn in the queue.
  informer.onChange((old, current) => {
    if (current === undefined && old !== undefined) served.withdraw(old.metadata.name);
  });
  return new Reconciler<DefinitionView & { name: string }, DefinitionStep>({
    ...{ name: "crd", store, logger, failpoints, concurrency: 1 },
    // No watch delivers what is left of a kind that goes.
    polls: ["delete-objects", "release"],
    sources: [source(informer, ({ metadata }) => [metadata.name])],
    read: async (name, from) => ({ name, ...(await readDefinition(name, context, from)) }),
    isGone: ({ crd }) => crd === undefined,
    decide: decideDefinition,
    apply: (step, { name, crd }) => applyStep(step, name, crd, context),
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  });
}
