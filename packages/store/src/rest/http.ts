import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { createSecureContext } from "node:tls";
import { urlToHttpOptions } from "node:url";
import { StatusError } from "../object/status-error.ts";
import { allowManyListeners, delay } from "../runtime/wait.ts";
import type { ClusterAccess, TlsAccess } from "./access.ts";
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

/** How long an unused connection is kept: less than servers and what is in front of them do, as a new one costs a handshake. */
const IDLE_SOCKET_MS = 30_000;
/** A server that says when it closes idle connections has them closed so much before: using one at that moment would seem a failure. */
const BEFORE_SERVER_MS = 1_000;
const KEEP_ALIVE_MS = 30_000;
/** Paths that are sent as they are. */
const PLAIN_PATH = /^\/(?!.*\/\.)[\w\-.~!$&'()*+,;=:@/?%]*$/;
/** How often a busy server (429) is asked again before that becomes the caller's problem. */
const BUSY_RETRIES = 5;
const MAX_BUSY_WAIT_MS = 30_000;
/** The way to the server is broken, or nobody listens there any more. */
const UNREACHABLE = new Set(["ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"]);

/** Is given the time, by `performance.now()`, since when the server has not responded to a request. */
export type SilenceListener = (since: number) => void;

/** Connections to one API server. Every failure is a StatusError. */
export class HttpClient {
  readonly #access: ClusterAccess;
  #tls: TlsAccess;
  /** Made with the first request: what is wrong with a certificate is an error of requests, as all else. */
  #agent: http.Agent | undefined;
  /** What is the same in all requests; made with the first one, as well. */
  #target: http.RequestOptions | undefined;
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
    this.#agent = undefined;
  }

  /** The body of a successful response. */
  async text(request: HttpRequest): Promise<string> {
    const response = await this.open(request);
    try {
      return await readText(response, this.#timeoutMs);
    } catch (error) {
      request.signal?.throwIfAborted();
      throw networkError(error, this.#access);
    }
  }

  /** A successful response as its head arrives; the caller reads or destroys it. */
  async open(request: HttpRequest): Promise<IncomingMessage> {
    let refresh = false;
    for (let attempt = 0; ; attempt++) {
      const response = await this.#send(request, refresh);
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode < 300) return response;
      const body = await readText(response, this.#timeoutMs).catch(() => "");
      if (statusCode === 401 && !refresh && this.#access.authorization !== undefined) {
        refresh = true;
        continue;
      }
      if (statusCode !== 429 || attempt >= BUSY_RETRIES) throw statusFrom(statusCode, body);
      const seconds = Number(response.headers["retry-after"]) || 1;
      await delay(Math.min(MAX_BUSY_WAIT_MS, seconds * 1000), request.signal);
    }
  }

  close(): void {
    this.#agent?.destroy();
  }

  async #send(request: HttpRequest, refresh: boolean): Promise<IncomingMessage> {
    request.signal?.throwIfAborted();
    allowManyListeners(request.signal);
    const authorization = await this.#access.authorization?.(refresh).catch((error: unknown) => {
      throw new StatusError("Unauthorized", `cannot read the credentials: ${(error as Error).message}`);
    });
    try {
      return await this.#exchange(request, authorization);
    } catch (error) {
      request.signal?.throwIfAborted();
      // The server may have closed a connection that we had just chosen; reading again is harmless.
      if (request.method !== "GET" || !isReset(error)) throw networkError(error, this.#access);
      return await this.#exchange(request, authorization).catch((again: unknown) => {
        request.signal?.throwIfAborted();
        throw networkError(again, this.#access);
      });
    }
  }

  #exchange(request: HttpRequest, authorization: string | undefined): Promise<IncomingMessage> {
    const { method, path, accept = "application/json", contentType = "application/json", signal } = request;
    this.#agent ??= agentFor(this.#access.server, this.#tls);
    const agent = this.#agent;
    const headers: http.OutgoingHttpHeaders = { accept, "user-agent": this.#userAgent };
    if (authorization !== undefined) headers["authorization"] = authorization;
    let body: Buffer | undefined;
    if (request.body !== undefined) {
      body = Buffer.from(JSON.stringify(request.body));
      headers["content-type"] = contentType;
      headers["content-length"] = body.length;
    }
    this.#target ??= targetOf(this.#access.server);
    const target = this.#target;
    const { request: start } = target.protocol === "https:" ? https : http;
    const since = performance.now();
    const report = () => {
      for (const listener of this.#silences) listener(since);
    };
    return new Promise((resolve, reject) => {
      const outgoing = start({ ...target, method, path: this.#pathOf(path), agent, headers });
      const silent = () => {
        report();
        outgoing.destroy(new Error(`no response for ${this.#timeoutMs} ms`));
      };
      const timer = setTimeout(silent, this.#timeoutMs);
      if (signal !== undefined) destroyOnAbort(outgoing, signal);
      outgoing.on("response", (response) => {
        clearTimeout(timer);
        heedKeepAlive(agent, response);
        resolve(response);
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        if (UNREACHABLE.has(error.code ?? "")) report();
        reject(error);
      });
      outgoing.end(body);
    });
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

function targetOf(server: string): http.RequestOptions {
  const { protocol, hostname, port } = urlToHttpOptions(new URL(server));
  return { protocol, hostname, port };
}

/** What `http.request` does with a signal, without watching the streams for their end besides. */
function destroyOnAbort(outgoing: http.ClientRequest, signal: AbortSignal): void {
  const stop = () => outgoing.destroy(new Error("aborted", { cause: signal.reason }));
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  outgoing.once("close", () => signal.removeEventListener("abort", stop));
}

/** Servers of Node.js close idle connections after 5 s, and say so. */
function heedKeepAlive(agent: http.Agent, { headers }: IncomingMessage): void {
  const seconds = /^timeout=(\d+)/.exec(String(headers["keep-alive"]))?.[1];
  if (seconds === undefined) return;
  const { options } = agent as http.Agent & { options: http.AgentOptions };
  options.timeout = Math.min(IDLE_SOCKET_MS, Math.max(1, Number(seconds) * 1000 - BEFORE_SERVER_MS));
}

/**
 * Certificates and keys are read once for all connections. Given to the agent as they are, each connection would read them
 * again, and each request would look for its connection by a name that has all of them.
 */
function agentFor(server: string, { ca, cert, key, ...tls }: TlsAccess): http.Agent {
  const pool = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, timeout: IDLE_SOCKET_MS };
  if (!server.startsWith("https:")) return new http.Agent(pool);
  return new https.Agent({ ...pool, ...tls, secureContext: createSecureContext({ ca, cert, key }) });
}

function readText(response: IncomingMessage, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const silent = () => response.destroy(new Error(`the response stopped for ${timeoutMs} ms`));
    const timer = setTimeout(silent, timeoutMs);
    response.on("data", (chunk: Buffer) => {
      timer.refresh();
      chunks.push(chunk);
    });
    response.on("end", () => {
      clearTimeout(timer);
      const [first] = chunks;
      if (!response.complete) reject(new Error(BROKEN));
      else if (first !== undefined && chunks.length === 1) resolve(first.toString());
      else resolve(Buffer.concat(chunks).toString());
    });
    response.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    response.on("close", () => {
      clearTimeout(timer);
      reject(new Error(BROKEN));
    });
  });
}

const BROKEN = "the connection ended in the middle of the response";

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}
