import type { KubeObject } from "../object/meta.ts";
import { groupResource, type Resource } from "../object/resource.ts";
import { isExpired, isForbidden, isNotFound, StatusError } from "../object/status-error.ts";
import type { ObjectStore } from "../object-store.ts";
import type { Logger } from "../runtime/logger.ts";
import { backoffMs, delay } from "../runtime/wait.ts";
import { listAll } from "./list-all.ts";

/** Where a reflected collection goes. */
export interface ReflectorTarget<T> {
  /** The whole collection, after every list. */
  replace(objects: T[]): void;
  put(object: T): void;
  remove(object: T): void;
}

interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** Between attempts; a watch that lived for {@link HEALTHY_MS} starts the count again. */
const BACKOFF = { baseMs: 200, maxMs: 30_000 };
const HEALTHY_MS = 5_000;

/**
 * Lists, then watches from that revision, for ever: a watch that ends is opened again where it stopped, a revision
 * that has expired leads to a new list, and every other failure is waited out. At most one watch is open at a time.
 */
export async function reflect<T extends KubeObject>(
  store: ObjectStore,
  { resource, selection }: { resource: Resource<T>; selection: Selection },
  { logger, signal }: { logger: Logger; signal: AbortSignal },
  target: ReflectorTarget<T>,
): Promise<void> {
  let revision: string | undefined;
  let failures = 0;
  const log = new FailureLog(logger, resource);
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      if (revision === undefined) {
        const list = await listAll(store, resource, { ...selection, signal });
        target.replace(list.items);
        revision = list.resourceVersion;
        log.listed();
      }
      const options = { ...selection, resourceVersion: revision, allowBookmarks: true, signal };
      for await (const { type, object } of store.watch(resource, options)) {
        revision = object.metadata.resourceVersion ?? revision;
        if (type === "DELETED") target.remove(object);
        else if (type !== "BOOKMARK") target.put(object);
      }
      failures = performance.now() - startedAt > HEALTHY_MS ? 0 : failures + 1;
    } catch (error) {
      if (signal.aborted) return;
      if (isExpired(error) || isFromAnotherPast(error) || isNotFound(error)) revision = undefined;
      failures = performance.now() - startedAt > HEALTHY_MS ? 1 : failures + 1;
      log.failed(error, { revision, failures });
    }
    if (failures > 0) await delay(backoffMs(failures, BACKOFF), signal).catch(() => {});
  }
}

/** Logs failures. What only an administrator can end is logged once, and once more when it has ended. */
class FailureLog {
  readonly #logger: Logger;
  readonly #resource: Resource;
  #waitsFor: "right" | "kind" | undefined;

  constructor(logger: Logger, resource: Resource) {
    this.#logger = logger;
    this.#resource = resource;
  }

  failed(error: unknown, { revision, failures }: { revision: string | undefined; failures: number }): void {
    const fields = { err: error, resource: this.#resource.plural, failures };
    if (isForbidden(error)) {
      // Time alone does not help, and what waits for the collection waits in silence.
      if (this.#waitsFor !== "right")
        this.#logger.error(
          missingRight(this.#resource, revision, error),
          "missing right: cannot follow a collection",
        );
      this.#waitsFor = "right";
    } else if (failures <= 3) this.#logger.debug(fields, "a watch broke; trying again");
    else if (!isNotFound(error)) this.#logger.warn(fields, "cannot follow a collection; trying again");
    else if (this.#waitsFor !== "kind") {
      const resource = groupResource(this.#resource);
      this.#logger.warn({ resource }, "the server does not serve a kind (any more); waiting for it");
      this.#waitsFor = "kind";
    }
  }

  listed(): void {
    const resource = groupResource(this.#resource);
    if (this.#waitsFor === "right") this.#logger.info({ resource }, "the collection may be read now");
    if (this.#waitsFor === "kind") this.#logger.info({ resource }, "the server serves the kind now");
    this.#waitsFor = undefined;
  }
}

function missingRight(resource: Resource, revision: string | undefined, { message }: StatusError): object {
  return { verb: revision === undefined ? "list" : "watch", resource: groupResource(resource), message };
}

/** The server knows only older revisions: it was set back, for instance from a backup. */
function isFromAnotherPast(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.details.causes ?? []).some((cause) => cause.reason === "ResourceVersionTooLarge")
  );
}
