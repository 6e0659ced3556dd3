import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LocalStore } from "../local/local-store.ts";
import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import { apiVersionOf, type ObjectKey, type Resource } from "../object/resource.ts";
import { isStatus, StatusError } from "../object/status-error.ts";
import type { DeleteOptions, ListOptions, Patch, WatchOptions } from "../object-store.ts";

/** True when it has dealt with the request itself: faults are injected here. */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface TestApiServer {
  url: string;
  /** Every request so far: `GET /api/v1/shelves?watch=true`. */
  requests: string[];
  intercept: Intercept | undefined;
  /** How objects are written on the wire; as they are when absent. May change and return its argument. */
  encode: ((object: KubeObject, resource: Resource) => unknown) | undefined;
}

interface Target {
  resource: Resource;
  key: Partial<ObjectKey>;
  subresource: string | undefined;
  query: URLSearchParams;
}

/** A test, or what takes itself apart after one. */
type Hooks = { after(work: () => Promise<void>): void };

/** The REST API over a LocalStore, as far as RestStore's tests need it. */
export async function startTestApiServer(t: Hooks, store: LocalStore): Promise<TestApiServer> {
  const api: TestApiServer = { url: "", requests: [], intercept: undefined, encode: undefined };
  const server = createServer((request, response) => {
    api.requests.push(`${request.method} ${request.url}`);
    if (api.intercept?.(request, response)) return;
    serve({ api, store }, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else if (error instanceof StatusError) send(response, error.code, error.toStatus());
      else send(response, 500, { message: String(error) });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return api;
}

interface World {
  api: TestApiServer;
  store: LocalStore;
}

async function serve(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { api, store } = world;
  const target = parseTarget(store, request.url ?? "");
  const { resource, key, query } = target;
  const sendObject = (code: number, object: KubeObject) =>
    send(response, code, api.encode?.(object, resource) ?? object);
  const body = await readBody(request);
  if (request.method === "GET" && key.name === undefined) {
    if (query.get("watch") === "true") return watch(world, target, response);
    return send(response, 200, await list(world, target));
  }
  if (request.method === "GET") return sendObject(200, await store.get(resource, key as ObjectKey));
  if (request.method === "DELETE") {
    const { dryRun, ...options } = (body ?? {}) as Record<string, unknown>;
    return sendObject(
      200,
      await store.delete(resource, key as ObjectKey, {
        ...(options as DeleteOptions),
        dryRun: dryRun !== undefined,
      }),
    );
  }
  sendObject(request.method === "POST" ? 201 : 200, await write(store, target, request, body));
}

function write(
  store: LocalStore,
  target: Target,
  request: IncomingMessage,
  body: unknown,
): Promise<KubeObject> {
  const { resource, key, subresource, query } = target;
  const fieldManager = query.get("fieldManager");
  const options = {
    dryRun: query.get("dryRun") === "All",
    ...(fieldManager === null ? {} : { fieldManager }),
  };
  if (request.method === "POST") return store.create(resource, body as KubeObject, options);
  if (request.method === "PUT" && subresource === "status")
    return store.updateStatus(resource, body as KubeObject, options);
  if (request.method === "PUT") return store.update(resource, body as KubeObject, options);
  const type = /application\/(json|merge|strategic-merge|apply)-patch/.exec(
    request.headers["content-type"] ?? "",
  )?.[1];
  const patch = { type: type === "strategic-merge" ? "strategic" : type, body } as Patch;
  return store.patch(
    resource,
    key as ObjectKey,
    patch,
    subresource === undefined ? options : { ...options, subresource },
  );
}

async function list({ api, store }: World, { resource, key, query }: Target): Promise<unknown> {
  const { items, ...metadata } = await store.list(resource, {
    ...defined({ namespace: key.namespace }),
    ...(Object.fromEntries(query) as ListOptions),
    limit: Number(query.get("limit") ?? 0),
  });
  const encoded = items.map((item) => (api.encode?.(item, resource) ?? item) as KubeObject);
  const bare = encoded.map(({ apiVersion: _a, kind: _k, ...item }) => item);
  return { apiVersion: apiVersionOf(resource), kind: `${resource.kind}List`, metadata, items: bare };
}

async function watch(
  { api, store }: World,
  { resource, key, query }: Target,
  response: ServerResponse,
): Promise<void> {
  const stop = new AbortController();
  response.on("close", () => stop.abort());
  const text = (name: string) => (query.has(name) ? { [name]: query.get(name) ?? "" } : {});
  const options: WatchOptions = {
    ...defined({ namespace: key.namespace }),
    ...text("labelSelector"),
    ...text("fieldSelector"),
    ...text("resourceVersion"),
    allowBookmarks: true,
    ...(query.has("sendInitialEvents")
      ? { sendInitialEvents: query.get("sendInitialEvents") === "true" }
      : {}),
    signal: stop.signal,
  };
  const events = store.watchJson(resource, options);
  const first = events.next();
  // Refusals come at once and are responses of their own; everything else is an event of the stream.
  await Promise.race([first, nextTurn()]);
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  try {
    for (let event = await first; !event.done; event = await events.next()) {
      const { type, json } = event.value;
      const object =
        api.encode === undefined
          ? json
          : JSON.stringify(api.encode(JSON.parse(json) as KubeObject, resource));
      response.write(`{"type":"${type}","object":${object}}\n`);
    }
  } catch (error) {
    if (!isStatus(error)) throw error;
    response.write(`${JSON.stringify({ type: "ERROR", object: error.toStatus() })}\n`);
  }
  response.end();
}

const PATH =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

function parseTarget(store: LocalStore, url: string): Target {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  const match = PATH.exec(pathname);
  if (match === null) throw new StatusError("NotFound", `no such path ${pathname}`);
  const [, group = "", version = "", namespace, plural = "", name, subresource] = match;
  const { resource } = store.registry.get({ group, version, plural });
  const key = { ...(namespace ? { namespace } : {}), ...(name ? { name: decodeURIComponent(name) } : {}) };
  return { resource, key, subresource, query: searchParams };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  request.setEncoding("utf8");
  let text = "";
  for await (const chunk of request as AsyncIterable<string>) text += chunk;
  return text === "" ? undefined : JSON.parse(text);
}

function send(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}
