import type { Readable } from "node:stream";
import { StatusError } from "../object/status-error.ts";
import { delay } from "../runtime/wait.ts";
import type { ClusterAccess, TlsAccess } from "./access.ts";
import { type Connections, connectionsTo } from "./connections.ts";
import { Exchange, type HttpResponse, headerOf } from "./exchange.ts";
import { networkError, statusFrom } from "./response-error.ts";

/** How requests to an API server are made. */
export interface HttpOptions {
  /** Longest silence of the server, in milliseconds, before a request counts as failed; default 30,000. */
  timeoutMs?: number;
  userAgent?: string;
}

/** One request to an API server. */
export interface HttpRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  path: string;
  body?: unknown;
  contentType?: string;
  accept?: string;
  signal?: AbortSignal | undefined;
}

/** Paths that are sent as they are. */
const PLAIN_PATH = /^\/(?!.*\/\.)[\w\-.~!$&'()*+,;=:@/?%]*$/;
/**
 * Connections for requests that are responded to at once. More would not be faster: a server works on as many as it has processors,
 * and each costs both sides as much as dozens of requests.
 */
const MOST_CONNECTIONS = 32;
/** A leader that does not renew its lease in time leads no more, however slow a webhook makes everything else. */
const LEASES = /\/leases\//;
/** How often a busy server (429) is asked again before that becomes the caller's problem. */
const BUSY_RETRIES = 5;
const MAX_BUSY_WAIT_MS = 30_000;
/** The way to the server is broken, or nobody listens there any more. */
const UNREACHABLE = new Set([
  ...["ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"],
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** The server may have closed a connection that we had just chosen. */
const RESET = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** `apart`: what must not wait for other requests, or is not over soon. */
type Use = "short" | "apart";

/** Is given the time, by `performance.now()`, since when the server has not responded to a request. */
export type SilenceListener = (since: number) => void;

/** Connections to one API server. Every failure is a StatusError. */
export class HttpClient {
  readonly #access: ClusterAccess;
  #tls: TlsAccess;
  /** Made with the first request: what is wrong with a certificate is an error of requests, as all else. */
  readonly #connections: Partial<Record<Use, Promise<Connections>>> = {};
  readonly #timeoutMs: number;
  readonly #userAgent: string;
  readonly #silences = new Set<SilenceListener>();

  constructor(access: ClusterAccess, options: HttpOptions = {}) {
    this.#access = access;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#userAgent = options.userAgent ?? "mooring";
    this.#tls = access.tls;
  }

  /**
   * Calls back for each request that gets no response in its time, or no connection: whoever reads another response of this
   * server may wait for bytes that a lost network has swallowed. Returns how to end that.
   */
  onSilence(listener: SilenceListener): () => void {
    this.#silences.add(listener);
    return () => this.#silences.delete(listener);
  }

  /** Connects with these from now on; what is under way ends on the connection that it has. */
  useTls(tls: TlsAccess): void {
    this.#tls = { ...this.#access.tls, ...tls };
    this.#leave((connections) => connections.close());
  }

  /** The body of a successful response. */
  async text(request: HttpRequest): Promise<string> {
    return (await this.#succeed(request, false)) as string;
  }

  /** The body of a successful response as it arrives, once its head has; the caller reads or destroys it. */
  async open(request: HttpRequest): Promise<Readable> {
    return (await this.#succeed(request, true)) as Readable;
  }

  /** Closes idle connections; requests under way fail. */
  close(): void {
    this.#leave((connections) => connections.destroy());
  }

  async #succeed(request: HttpRequest, stream: boolean): Promise<HttpResponse["body"]> {
    let refresh = false;
    for (let attempt = 0; ; attempt++) {
      const response = await this.#send(request, { refresh, stream });
      const { code, body } = response;
      if (code >= 200 && code < 300) return body;
      if (code === 401 && !refresh && this.#access.authorization !== undefined) {
        refresh = true;
        continue;
      }
      if (code !== 429 || attempt >= BUSY_RETRIES) throw statusFrom(code, body as string);
      const seconds = Number(headerOf(response, "retry-after")) || 1;
      await delay(Math.min(MAX_BUSY_WAIT_MS, seconds * 1000), request.signal);
    }
  }

  async #send(
    request: HttpRequest,
    { refresh, stream }: { refresh: boolean; stream: boolean },
  ): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    const authorization = await this.#access.authorization?.(refresh).catch((error: unknown) => {
      throw new StatusError("Unauthorized", `cannot read the credentials: ${(error as Error).message}`);
    });
    try {
      return await this.#exchange(request, authorization, stream);
    } catch (error) {
      request.signal?.throwIfAborted();
      // Reading again is harmless.
      if (request.method !== "GET" || !RESET.has(codeOf(error))) throw networkError(error, this.#access);
      return await this.#exchange(request, authorization, stream).catch((again: unknown) => {
        request.signal?.throwIfAborted();
        throw networkError(again, this.#access);
      });
    }
  }

  async #exchange(
    request: HttpRequest,
    authorization: string | undefined,
    stream: boolean,
  ): Promise<HttpResponse> {
    const { method, path, accept = "application/json", contentType = "application/json", signal } = request;
    const connections = await this.#connectionsFor(stream || LEASES.test(path) ? "apart" : "short");
    const headers: Record<string, string> = { accept, "user-agent": this.#userAgent };
    if (authorization !== undefined) headers["authorization"] = authorization;
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    if (body !== null) headers["content-type"] = contentType;
    const since = performance.now();
    const onSilence = () => {
      for (const listener of this.#silences) listener(since);
    };
    const exchange = new Exchange({ timeoutMs: this.#timeoutMs, stream, signal, onSilence });
    connections.dispatch({ method, path: this.#pathOf(path), headers, body }, exchange);
    return exchange.response.catch((error: unknown) => {
      if (UNREACHABLE.has(codeOf(error))) onSilence();
      throw error;
    });
  }

  #connectionsFor(use: Use): Promise<Connections> {
    const options = { most: use === "short" ? MOST_CONNECTIONS : null, timeoutMs: this.#timeoutMs };
    const made = this.#connections[use] ?? connectionsTo(this.#access.server, this.#tls, options);
    this.#connections[use] = made;
    return made.catch((error: unknown) => {
      if (this.#connections[use] === made) delete this.#connections[use];
      throw error;
    });
  }

  /** The next request makes new connections. */
  #leave(end: (connections: Connections) => Promise<void>): void {
    for (const use of ["short", "apart"] as const) {
      this.#connections[use]?.then(end).catch(() => {});
      delete this.#connections[use];
    }
  }

  /** Behind a proxy the server may itself have a path. */
  #pathOf(path: string): string {
    const { server } = this.#access;
    const isPlain = PLAIN_PATH.test(path) && server.indexOf("/", server.indexOf("//") + 2) < 0;
    if (isPlain) return path;
    const { pathname, search } = new URL(server + path);
    return pathname + search;
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "";
