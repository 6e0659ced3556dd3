import {
  createInformer,
  isConflict,
  isNotFound,
  type KubeObject,
  type Logger,
  listAll,
  mutate,
  type ObjectStore,
  type ReconcileContext,
  type ReconcileResult,
  type Resource,
  type ResourceRegistry,
  runController,
  silentLogger,
  source,
} from "@mooring/store";
import type { MutableKindRegistry } from "../apiserver/kind-info.ts";
import { canonicalJson, jsonEqual } from "../schema/model.ts";
import { customKind } from "./custom-kind.ts";
import { decideNames, setCondition } from "./names.ts";
import { CLEANUP_FINALIZER, type CustomResourceDefinition, CustomResourceDefinitions } from "./types.ts";
import { isEstablished } from "./validate-definition.ts";

export interface CrdControllerOptions {
  store: ObjectStore;
  registry: ResourceRegistry;
  /** The API server's; absent when there is none. */
  kinds?: MutableKindRegistry;
  logger?: Logger;
  signal: AbortSignal;
}

/** How soon a definition being deleted looks again whether its objects are gone. */
const CLEANUP_POLL_MS = 200;

/**
 * Serves the kinds of CustomResourceDefinitions. Resolves when every kind that is established already is served;
 * `done` settles when the controller has stopped.
 */
export async function startCrdController(options: CrdControllerOptions): Promise<{ done: Promise<void> }> {
  const controller = new CrdController(options);
  await controller.ready();
  return { done: controller.run() };
}

class CrdController {
  readonly #options: CrdControllerOptions;
  readonly #informer;
  #informing: Promise<void> = Promise.resolve();
  /** Name of a definition -> what was registered for it, to do so again only when it changes. */
  readonly #served = new Map<string, { resource: Resource; spec: string }>();

  constructor(options: CrdControllerOptions) {
    this.#options = options;
    const logger = options.logger ?? silentLogger;
    this.#informer = createInformer(options.store, CustomResourceDefinitions, { logger });
  }

  async ready(): Promise<void> {
    const { signal } = this.#options;
    this.#informing = this.#informer.run(signal);
    await this.#informer.synced(signal);
    for (const crd of this.#informer.list()) if (isEstablished(crd)) this.#serve(crd);
  }

  async run(): Promise<void> {
    const { signal, logger = silentLogger } = this.#options;
    // A definition that goes frees its names: all others are looked at again.
    const all = () => this.#informer.list().map((crd) => crd.metadata.name);
    this.#informer.onChange((old, current) => {
      if (current === undefined && old !== undefined) this.#withdraw(old.metadata.name);
    });
    const running = runController(
      {
        name: "crd",
        logger,
        sources: [source(this.#informer, all)],
        reconcile: (name, context) => this.#reconcile(name, context),
        concurrency: 1,
      },
      signal,
    );
    await Promise.all([this.#informing, running]);
  }

  async #reconcile(name: string, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const crd = this.#informer.get(name);
    if (crd === undefined) {
      this.#withdraw(name);
      return undefined;
    }
    if (crd.metadata.deletionTimestamp !== undefined) return await this.#cleanUp(crd, signal);
    const others = this.#informer.list().filter((other) => other.metadata.name !== name);
    const decision = decideNames(crd, others, new Date().toISOString().replace(/\.\d+Z$/, "Z"));
    const established = decision.conditions.some((c) => c.type === "Established" && c.status === "True");
    // Served first: whoever waits for Established may use the kind at once.
    if (established) this.#serve(crd);
    const { acceptedNames, conditions } = decision;
    if (
      !jsonEqual({ acceptedNames: crd.status?.acceptedNames, conditions: crd.status?.conditions }, decision)
    ) {
      await this.#writeStatus(crd, { ...crd.status, acceptedNames, conditions }, signal);
    }
    return undefined;
  }

  async #writeStatus(
    crd: CustomResourceDefinition,
    status: NonNullable<CustomResourceDefinition["status"]>,
    signal: AbortSignal,
  ): Promise<void> {
    const next = { ...structuredClone(crd), status };
    try {
      await this.#options.store.updateStatus(CustomResourceDefinitions, next, {
        signal,
        fieldManager: "mooring-crd",
      });
    } catch (error) {
      // Somebody was faster or deleted it: the change that tells us so is on its way.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  #serve(crd: CustomResourceDefinition): void {
    const { name } = crd.metadata;
    const spec = canonicalJson(crd.spec);
    if (this.#served.get(name)?.spec === spec) return;
    const { definition, info } = customKind(crd);
    this.#options.registry.register(definition);
    this.#options.kinds?.set(info);
    this.#served.set(name, { resource: definition.resource, spec });
  }

  #withdraw(name: string): void {
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    this.#options.kinds?.delete(served.resource.group, served.resource.plural);
    this.#options.registry.unregister(served.resource);
  }

  /** Objects first, the definition last; between the two no new object can be created. */
  async #cleanUp(crd: CustomResourceDefinition, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    if (crd.metadata.finalizers?.includes(CLEANUP_FINALIZER) !== true) return undefined;
    const { store } = this.#options;
    const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const conditions = setCondition(
      crd.status?.conditions ?? [],
      {
        type: "Terminating",
        status: "True",
        reason: "InstanceDeletionInProgress",
        message: "CustomResource deletion is in progress",
      },
      now,
    );
    if (!jsonEqual(conditions, crd.status?.conditions))
      await this.#writeStatus(crd, { ...crd.status, conditions }, signal);
    const served = this.#served.get(crd.metadata.name);
    if (served !== undefined && (await this.#deleteAll(served.resource, signal)) > 0) {
      return { requeueAfterMs: CLEANUP_POLL_MS };
    }
    this.#withdraw(crd.metadata.name);
    const key = { name: crd.metadata.name };
    try {
      await mutate(
        store,
        CustomResourceDefinitions,
        key,
        (current) => {
          const finalizers = current.metadata.finalizers?.filter(
            (finalizer) => finalizer !== CLEANUP_FINALIZER,
          );
          return { ...current, metadata: { ...current.metadata, finalizers: finalizers ?? [] } };
        },
        { signal },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }

  /** How many objects are still there. */
  async #deleteAll(resource: Resource, signal: AbortSignal): Promise<number> {
    const { store } = this.#options;
    const objects = await listAll(store, resource, { signal });
    let left = 0;
    for (const { metadata } of objects.items) {
      const key =
        metadata.namespace === undefined
          ? { name: metadata.name }
          : { namespace: metadata.namespace, name: metadata.name };
      try {
        const after: KubeObject = await store.delete(resource, key, {
          propagationPolicy: "Background",
          signal,
        });
        if ((after.metadata.finalizers?.length ?? 0) > 0) left += 1;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return left;
  }
}
