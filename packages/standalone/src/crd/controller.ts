import {
  createInformer,
  failpoint,
  isConflict,
  isNotFound,
  type Logger,
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
import { jsonEqual } from "../schema/model.ts";
import { deleteObjects, frozen, release, terminating } from "./clean-up.ts";
import { customKind } from "./custom-kind.ts";
import { decideNames } from "./names.ts";
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
const markedTerminating = failpoint("standalone/crd/marked-terminating");
const objectsDeleted = failpoint("standalone/crd/objects-deleted");

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
  readonly #served = new Map<string, { resource: Resource; version: string }>();

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
    this.#informer.onChange((old, current) => {
      if (current === undefined && old !== undefined) this.#withdraw(old.metadata.name);
    });
    const running = runController(
      {
        name: "crd",
        logger,
        sources: [source(this.#informer, (crd) => this.#concerned(crd))],
        reconcile: (name, context) => this.#reconcile(name, context),
        concurrency: 1,
      },
      signal,
    );
    await Promise.all([this.#informing, running]);
  }

  /** The definition itself, and those that wait for a name that it may have let go. */
  #concerned(changed: CustomResourceDefinition): string[] {
    const waiting = this.#informer
      .list()
      .filter(({ spec, status }) => spec.group === changed.spec.group && !hasNames(status));
    return [...new Set([changed, ...waiting].map((crd) => crd.metadata.name))];
  }

  async #reconcile(name: string, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const crd = this.#informer.get(name);
    if (crd === undefined) {
      this.#withdraw(name);
      return undefined;
    }
    if (crd.metadata.deletionTimestamp !== undefined) return await this.#cleanUp(crd, signal);
    const others = this.#informer.list().filter((other) => other.metadata.name !== name);
    const decision = decideNames(crd, others, now());
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
    // Specs can be huge; the generation says as well whether one has changed.
    const version = `${crd.metadata.uid}/${crd.metadata.generation}`;
    if (this.#served.get(name)?.version === version) return;
    const { definition, info } = customKind(crd);
    this.#options.registry.register(definition);
    this.#options.kinds?.set(info);
    this.#served.set(name, { resource: definition.resource, version });
  }

  #withdraw(name: string): void {
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    this.#options.kinds?.delete(served.resource.group, served.resource.plural);
    this.#options.registry.unregister(served.resource);
  }

  /** Objects first, the definition last. */
  async #cleanUp(crd: CustomResourceDefinition, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    if (crd.metadata.finalizers?.includes(CLEANUP_FINALIZER) !== true) return undefined;
    const { store, registry } = this.#options;
    const conditions = terminating(crd, now());
    if (!jsonEqual(conditions, crd.status?.conditions)) {
      await this.#writeStatus(crd, { ...crd.status, conditions }, signal);
      markedTerminating();
    }
    const served = this.#served.get(crd.metadata.name);
    if (served !== undefined) {
      registry.register(frozen(customKind(crd).definition));
      if ((await deleteObjects(store, served.resource, signal)) > 0)
        return { requeueAfterMs: CLEANUP_POLL_MS };
    }
    objectsDeleted();
    this.#withdraw(crd.metadata.name);
    await release(store, crd.metadata.name, signal);
    return undefined;
  }
}

function hasNames(status: CustomResourceDefinition["status"]): boolean {
  return status?.conditions?.some((c) => c.type === "NamesAccepted" && c.status === "True") === true;
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}
