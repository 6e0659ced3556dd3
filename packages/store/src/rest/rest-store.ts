import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import { apiVersionOf, type ObjectKey, type Resource } from "../object/resource.ts";
import type {
  DeleteOptions,
  ListOptions,
  ListResult,
  ObjectStore,
  Patch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "../object-store.ts";
import type { ClusterAccess, TlsAccess } from "./access.ts";
import { decodeObject, isMap, mentionsNull } from "./decode.ts";
import { HttpClient, type HttpOptions, type HttpRequest } from "./http.ts";
import { inClusterAccess, isInCluster } from "./in-cluster.ts";
import { kubeconfigAccess } from "./kubeconfig.ts";
import { withoutManagers } from "./managers.ts";
import { collectionPath, objectPath, withQuery } from "./resource-path.ts";
import { isStatusObject, noObject, statusFromObject } from "./response-error.ts";
import { resumingWatch, type WatchRequest } from "./resuming-watch.ts";
import { watchEvents } from "./watch-stream.ts";

/** How a store on an API server behaves: times, and how it names itself. */
export interface RestStoreOptions extends HttpOptions {
  /**
   * A watch that brings nothing for so long, not even a bookmark, is opened again. Servers send a bookmark about
   * every minute. Milliseconds; default 150,000.
   */
  watchIdleMs?: number;
  /**
   * Objects come without who has set which field (`metadata.managedFields`), for those who never read that. An object that is written
   * without it keeps what the server has.
   */
  withoutManagers?: boolean;
}

const PATCH_TYPE: Readonly<Record<Patch["type"], string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

/** The objects of any Kubernetes API server. */
export class RestStore implements ObjectStore {
  /** The namespace that tools use by default. */
  readonly namespace: string;
  /** `https://host:port` */
  readonly server: string;
  /** PEM of the authority that the server's certificate has to be from; absent: one of the system's. */
  readonly authority: string | undefined;
  readonly #access: ClusterAccess;
  readonly #http: HttpClient;
  readonly #watchIdleMs: number;
  /** What is read of a response, or of one line of a watch. */
  readonly #read: (json: string) => string;

  constructor(access: ClusterAccess, options: RestStoreOptions = {}) {
    this.namespace = access.namespace;
    this.server = access.server;
    this.authority = access.tls.ca;
    this.#access = access;
    this.#http = new HttpClient(access, options);
    this.#watchIdleMs = options.watchIdleMs ?? 150_000;
    this.#read = options.withoutManagers === true ? withoutManagers : (json) => json;
  }

  /** As a kubeconfig file says (default `$KUBECONFIG`, then `~/.kube/config`). Throws AccessError. */
  static async fromKubeconfig(
    path?: string,
    options: RestStoreOptions & { context?: string } = {},
  ): Promise<RestStore> {
    return new RestStore(await kubeconfigAccess(path, options.context), options);
  }

  /** As a pod's service account. Throws AccessError. */
  static async inCluster(options: RestStoreOptions = {}): Promise<RestStore> {
    return new RestStore(await inClusterAccess(), options);
  }

  /** In a pod its service account, elsewhere the default kubeconfig. Throws AccessError. */
  static discover(options: RestStoreOptions = {}): Promise<RestStore> {
    return isInCluster() ? RestStore.inCluster(options) : RestStore.fromKubeconfig(undefined, options);
  }

  /** The text behind any path of the API server: `/version`, `/api/v1/namespaces/x/pods/y/log`. */
  getText(path: string, signal?: AbortSignal): Promise<string> {
    return this.#http.text({ method: "GET", path, accept: "*/*", signal });
  }

  /** Shows another certificate from now on, as the old one ends. */
  useTls(tls: TlsAccess): void {
    this.#http.useTls(tls);
  }

  /** Closes idle connections; requests under way fail. */
  close(): void {
    this.#http.close();
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal?: AbortSignal): Promise<T> {
    const path = objectPath(resource, key);
    return this.#object(resource, await this.#http.text({ method: "GET", path, signal }));
  }

  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    const { namespace, signal, ...query } = options;
    const path = withQuery(collectionPath(resource, namespace), query);
    const text = this.#read(await this.#http.text({ method: "GET", path, signal }));
    const list = this.#parse(text) as {
      items?: (T | null)[] | null;
      metadata?: {
        resourceVersion?: string | null;
        continue?: string | null;
        remainingItemCount?: number | null;
      } | null;
    };
    const { resourceVersion, continue: next, remainingItemCount } = list.metadata ?? {};
    const found = list.items ?? [];
    if (!Array.isArray(found)) throw noObject(text, this.#access);
    const nulls = mentionsNull(text);
    // Lists say once for all items what they are.
    const head = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    return {
      items: found
        .filter((item) => item !== null)
        .map((item) => ({ ...head, ...decodeObject(item, resource, nulls) })),
      resourceVersion: resourceVersion ?? "",
      ...(next ? { continue: next } : {}),
      ...(remainingItemCount ? { remainingItemCount } : {}),
    };
  }

  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void> {
    const { allowBookmarks, resourceVersion, sendInitialEvents, signal } = options;
    return resumingWatch(
      (request) => this.#watchOnce<T>(resource, options, request),
      {
        first: { resourceVersion, sendInitialEvents },
        bookmarks: allowBookmarks === true || sendInitialEvents === true,
      },
      signal,
    );
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = collectionPath(resource, object.metadata.namespace);
    return this.#write(resource, { method: "POST", path, body: object }, options);
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = objectPath(resource, object.metadata);
    return this.#write(resource, { method: "PUT", path, body: object }, options);
  }

  updateStatus<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = objectPath(resource, object.metadata, "status");
    return this.#write(resource, { method: "PUT", path, body: object }, options);
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions & { subresource?: string } = {},
  ): Promise<T> {
    const path = objectPath(resource, key, options.subresource);
    const contentType = PATCH_TYPE[patch.type];
    const force = patch.type === "apply" ? patch.force : undefined;
    return this.#write(resource, { method: "PATCH", path, body: patch.body, contentType, force }, options);
  }

  async delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    { dryRun, signal, ...options }: DeleteOptions = {},
  ): Promise<T> {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...options,
      ...(dryRun ? { dryRun: ["All"] } : {}),
    };
    const path = objectPath(resource, key);
    const text = await this.#http.text({ method: "DELETE", path, body, signal });
    const response: unknown = this.#object(resource, text);
    if (!isStatusObject(response)) return response as T;
    // For some kinds the server returns "Success" instead of the object that is gone.
    const { uid } = statusFromObject(response).details;
    const metadata = { ...key, ...defined({ uid }) };
    return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata } as T;
  }

  #object<T extends KubeObject>(resource: Resource<T>, response: string): T {
    const text = this.#read(response);
    return decodeObject(this.#parse(text) as T, resource, mentionsNull(text));
  }

  /** The object of a successful response. Throws ServiceUnavailable for what is none: a proxy's page, for one. */
  #parse(text: string): unknown {
    try {
      const value: unknown = JSON.parse(text);
      if (isMap(value)) return value;
    } catch {
      // As what is JSON, and no object.
    }
    throw noObject(text, this.#access);
  }

  async #write<T extends KubeObject>(
    resource: Resource<T>,
    { path, force, ...request }: HttpRequest & { force?: boolean | undefined },
    { dryRun, fieldManager, signal }: WriteOptions,
  ): Promise<T> {
    const query = { dryRun: dryRun ? "All" : undefined, fieldManager, force };
    const contentType = request.contentType ?? "application/json";
    const text = await this.#http.text({ ...request, path: withQuery(path, query), contentType, signal });
    return this.#object(resource, text);
  }

  async #watchOnce<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, labelSelector, fieldSelector, signal }: WatchOptions,
    { resourceVersion, sendInitialEvents }: WatchRequest,
  ): Promise<AsyncGenerator<WatchEvent<T>, void>> {
    const path = withQuery(collectionPath(resource, namespace), {
      watch: "true",
      labelSelector,
      fieldSelector,
      resourceVersion,
      // Without them an idle watch falls out of the server's history and has to list again.
      allowWatchBookmarks: "true",
      sendInitialEvents,
      resourceVersionMatch: sendInitialEvents === undefined ? undefined : "NotOlderThan",
      // Spread, so that all watches of all clients do not come back at the same second.
      timeoutSeconds: Math.floor(300 + 300 * Math.random()),
    });
    const response = await this.#http.open({ method: "GET", path, signal });
    const [client, read, idleMs] = [this.#http, this.#read, this.#watchIdleMs];
    return watchEvents(resource, response, { client, read, idleMs });
  }
}
