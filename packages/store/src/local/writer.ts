import { randomUUID } from "node:crypto";
import { Namespaces } from "../kinds/kubernetes.ts";
import { defined } from "../object/defined.ts";
import { alreadyExists, badRequest, namespaceTerminating, notFound } from "../object/errors.ts";
import { cloneJson } from "../object/json.ts";
import type { KubeObject, UnstructuredObject } from "../object/meta.ts";
import { groupResource, type ObjectKey, type Resource } from "../object/resource.ts";
import type { DeleteOptions, Patch, WriteOptions } from "../object-store.ts";
import { pathOf } from "./event.ts";
import { checkKey, type Located, locate, plain, type Unchecked } from "./locate.ts";
import type { ResourceDefinition } from "./registry.ts";
import { type Decision, type RuleContext, timestamp } from "./rules/context.ts";
import { checkName, decideCreate, generatedName, normalized } from "./rules/create.ts";
import { decideDelete } from "./rules/delete.ts";
import { patched, unsupportedPatch } from "./rules/patch.ts";
import { decideUpdate } from "./rules/update.ts";
import { inVersion } from "./selection.ts";
import type { Change, WriteLog } from "./write-log.ts";

/** What the store's callers may ask of one write beyond the rules of its kind. */
export interface AdmittedWrite {
  /**
   * Sees what is about to be stored and what is there now, in the storage version, in the same turn as the write; what it
   * throws refuses it. Also asked in a dry run, and where nothing would change, as the response shows the object; not asked
   * for an object that goes away.
   */
  admit?(next: UnstructuredObject, old: UnstructuredObject | undefined): void;
}

/** Options of every write. */
export type AdmittedOptions = WriteOptions & AdmittedWrite;

interface OfSubresource {
  subresource?: string;
}

/** What a writer needs of its store. */
export interface WriterSource {
  log: WriteLog;
  /** Throws ServiceUnavailable when the store is closed. */
  definition(resource: Resource): ResourceDefinition;
  /** Milliseconds since the epoch. */
  clock(): number;
  requireNamespaces: boolean;
}

/**
 * Writes by the rules of an API server. Each is decided at once, against all that were decided before it, and resolves with
 * the object when it is on disk.
 */
export class Writer {
  readonly #source: WriterSource;

  constructor(source: WriterSource) {
    this.#source = source;
  }

  create<T>(resource: Resource, object: KubeObject, options: AdmittedOptions): Promise<T> {
    return this.#settled(() => this.#create(resource, object, options));
  }

  /** With `subresource` "status" it is the status that is written. */
  replace<T>(resource: Resource, object: KubeObject, options: AdmittedOptions & OfSubresource): Promise<T> {
    return this.#settled(() => this.#replace(resource, plain(object), options));
  }

  patch<T>(
    resource: Resource,
    key: ObjectKey,
    patch: Patch,
    options: AdmittedOptions & OfSubresource,
  ): Promise<T> {
    return this.#settled(() => this.#patch(this.#locate(resource, key), patch, options));
  }

  delete<T>(resource: Resource, key: ObjectKey, options: DeleteOptions): Promise<T> {
    return this.#settled(async () => {
      const at = this.#locate(resource, key);
      const current = this.#current(at);
      const decision = decideDelete(current, options, this.#context(at, options), this.#source.clock());
      return this.#carryOut(at, decision, options);
    });
  }

  /**
   * A refusal is thrown when what it is founded on can be read: a client that meets a conflict and reads again would else
   * see the object from before, and meet the same conflict until the disk has caught up.
   */
  async #settled<T>(write: () => Promise<T>): Promise<T> {
    const { log } = this.#source;
    try {
      return await log.attempt(write);
    } catch (error) {
      await log.settled().catch(() => {});
      throw error;
    }
  }

  #create<T>(resource: Resource, object: KubeObject, options: AdmittedOptions): Promise<T> {
    const input = plain(object);
    const name = this.#newName(resource, input);
    const at = this.#locate(resource, { namespace: input.metadata.namespace, name });
    if (this.#source.log.latest(at.path) !== undefined) throw alreadyExists(resource, name);
    this.#checkNamespace(at);
    const stored = inVersion(at.definition, input, at.definition.resource);
    return this.#carryOut<T>(
      at,
      decideCreate(stored, at.key, randomUUID(), this.#context(at, options)),
      options,
    );
  }

  #patch<T>(at: Located, patch: Patch, options: AdmittedOptions & OfSubresource): Promise<T> {
    if (patch.type === "apply") return this.#apply<T>(at, patch, options);
    const current = this.#current(at);
    const shown = inVersion(at.definition, cloneJson(current), at.resource);
    const wanted = inVersion(
      at.definition,
      plain(patched(shown, patch, at.definition.strategy)),
      at.definition.resource,
    );
    checkKey(at, wanted);
    const context = this.#context(at, options, options.subresource);
    return this.#carryOut<T>(at, decideUpdate(wanted, current, context), options);
  }

  #replace<T>(
    resource: Resource,
    input: UnstructuredObject,
    { subresource, ...options }: AdmittedOptions & OfSubresource,
  ): Promise<T> {
    const at = this.#locate(resource, { namespace: input.metadata.namespace, name: input.metadata.name });
    const current = this.#current(at);
    const wanted = inVersion(at.definition, input, at.definition.resource);
    return this.#carryOut<T>(
      at,
      decideUpdate(wanted, current, this.#context(at, options, subresource)),
      options,
    );
  }

  #apply<T>(
    at: Located,
    patch: Extract<Patch, { type: "apply" }>,
    options: AdmittedOptions & OfSubresource,
  ): Promise<T> {
    const { definition } = at;
    if (definition.strategy?.apply === undefined) throw unsupportedPatch();
    if (!options.fieldManager) throw badRequest("fieldManager is required for apply patch");
    const exists = this.#source.log.latest(at.path) !== undefined;
    if (!exists && options.subresource !== undefined) throw notFound(at.resource, at.key.name);
    if (!exists) this.#checkNamespace(at);
    const context = this.#context(at, options, options.subresource);
    const current = exists ? this.#current(at) : undefined;
    const body = plain(patch.body as KubeObject);
    checkKey(at, body);
    const applied = definition.strategy.apply(
      current === undefined ? undefined : cloneJson(current),
      inVersion(definition, body, definition.resource),
      {
        manager: options.fieldManager,
        force: patch.force ?? false,
        time: context.now,
        ...defined({ subresource: options.subresource }),
      },
    );
    if (current !== undefined)
      return this.#carryOut<T>(at, decideUpdate(applied, current, context, true), options);
    const { fieldManager: _tracked, ...untracked } = context;
    return this.#carryOut<T>(at, decideCreate(applied, at.key, randomUUID(), untracked), options);
  }

  /** Makes the decision true and returns the object as it is then. Synchronous up to the wait for the disk. */
  async #carryOut<T>(
    at: Located,
    { action, object }: Decision,
    options: Pick<WriteOptions, "dryRun" | "patient"> & AdmittedWrite,
  ): Promise<T> {
    const { log } = this.#source;
    const previous = log.latest(at.path);
    let result = object;
    if (action !== "remove")
      options.admit?.(
        object,
        previous === undefined ? undefined : (JSON.parse(previous) as UnstructuredObject),
      );
    if (action === "keep") {
      if (options.dryRun !== true) await log.settled();
    } else {
      const { resource } = at.definition;
      const type = action === "remove" ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
      if (options.dryRun === true) await log.rehearse({ type, resource, path: at.path, object });
      else {
        const change: Change = {
          type,
          resource,
          path: at.path,
          object: normalized(object, at.key, resource),
        };
        result = JSON.parse(await log.commit(change, options)) as UnstructuredObject;
      }
    }
    return inVersion(at.definition, result, at.resource) as unknown as T;
  }

  /** The object that the next write builds on, in the storage version. */
  #current(at: Located): UnstructuredObject {
    const json = this.#source.log.latest(at.path);
    if (json === undefined) throw notFound(at.resource, at.key.name);
    return inVersion(at.definition, JSON.parse(json) as UnstructuredObject, at.definition.resource);
  }

  #lookup(resource: Resource, key: ObjectKey): UnstructuredObject | undefined {
    const json = this.#source.log.latest(pathOf(groupResource(resource), key.namespace, key.name));
    return json === undefined ? undefined : (JSON.parse(json) as UnstructuredObject);
  }

  #newName(resource: Resource, input: UnstructuredObject): string {
    const { name, generateName, namespace } = input.metadata;
    if (name || !generateName) return checkName(resource, name);
    for (;;) {
      const candidate = checkName(resource, generatedName(generateName, Math.random));
      const { path } = this.#locate(resource, { namespace: namespace || undefined, name: candidate });
      if (this.#source.log.latest(path) === undefined) return candidate;
    }
  }

  #locate(resource: Resource, key: Unchecked): Located {
    return locate(this.#source.definition(resource), resource, key);
  }

  /** Also for writers inside the process: what they make in a namespace after its clean-up would stay for ever. */
  #checkNamespace({ resource, key }: Located): void {
    if (!this.#source.requireNamespaces || key.namespace === undefined) return;
    const json = this.#source.log.latest(pathOf("namespaces", undefined, key.namespace));
    if (json === undefined) throw notFound(Namespaces, key.namespace);
    const { metadata } = JSON.parse(json) as KubeObject;
    if (metadata.deletionTimestamp !== undefined) throw namespaceTerminating(resource, key);
  }

  #context(at: Located, options: WriteOptions, subresource?: string): RuleContext {
    return {
      definition: at.definition,
      dryRun: options.dryRun ?? false,
      now: timestamp(this.#source.clock()),
      lookup: (resource, key) => this.#lookup(resource, key),
      ...defined({ collect: this.#source.log.collect, subresource, fieldManager: options.fieldManager }),
    };
  }
}
