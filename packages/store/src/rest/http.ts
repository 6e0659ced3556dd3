import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { createSecureContext } from "node:tls";
import { defined } from "../object/defined.ts";
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

/** Servers of Node close idle connections after 5 s; using one at that moment would seem a failure. */
const IDLE_SOCKET_MS = 4_000;
const KEEP_ALIVE_MS = 30_000;
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
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    this.#agent ??= agentFor(this.#access.server, this.#tls);
    const agent = this.#agent;
    const since = performance.now();
    const report = () => {
      for (const listener of this.#silences) listener(since);
    };
    const { request: start } = this.#access.server.startsWith("https:") ? https : http;
    return new Promise((resolve, reject) => {
      const outgoing = start(this.#access.server + request.path, {
        method: request.method,
        agent,
        headers: {
          accept: request.accept ?? "application/json",
          "user-agent": this.#userAgent,
          ...defined({ authorization }),
          ...(body === undefined
            ? {}
            : { "content-type": request.contentType ?? "application/json", "content-length": body.length }),
        },
        ...defined({ signal: request.signal }),
      });
      const silent = () => {
        report();
        outgoing.destroy(new Error(`no response for ${this.#timeoutMs} ms`));
      };
      const timer = setTimeout(silent, this.#timeoutMs);
      outgoing.on("response", (response) => {
        clearTimeout(timer);
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

async function readText(response: IncomingMessage, timeoutMs: number): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  const silent = () => response.destroy(new Error(`the response stopped for ${timeoutMs} ms`));
  let timer = setTimeout(silent, timeoutMs);
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      clearTimeout(timer);
      timer = setTimeout(silent, timeoutMs);
      text += chunk;
    }
    if (!response.complete) throw new Error("the connection ended in the middle of the response");
    return text;
  } finally {
    clearTimeout(timer);
  }
}

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}
