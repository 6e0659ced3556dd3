import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { createInterface } from "node:readline";
import type { ObjectMeta, StatusDetails } from "@mooring/store";

/** `T` is what the test expects in the body. */
export interface HttpResponse<T> {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; undefined where it is none. */
  json: T;
}

/** An object, a list or a Status: what their bodies have in common, or differ in. */
export interface KubeBody {
  kind: string;
  metadata: ObjectMeta & { continue: string; remainingItemCount: number };
  /** Of a list. */
  items: KubeBody[];
  /** Of a ConfigMap. */
  data?: Record<string, string>;
  /** Of a Status: Success or Failure. */
  status: string;
  code: number;
  reason: string;
  message: string;
  details: StatusDetails;
}

export interface RequestInit {
  method?: string;
  headers?: Record<string, string>;
  /** Objects are sent as JSON, text and bytes as they are. */
  body?: unknown;
  /** Null sends no token. */
  token?: string | null;
}

/** Raw requests to an API server, for what kubectl does not show. */
export class HttpClient {
  readonly #server: { url: string; caPem: string; token: string };
  readonly #agent: Agent;

  constructor(server: { url: string; caPem: string; token: string }) {
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true, ca: server.caPem });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Sends and waits for the headers of the response. */
  async open(path: string, init: RequestInit = {}): Promise<IncomingMessage> {
    const { method = "GET", headers = {}, body, token = this.#server.token } = init;
    const bytes =
      body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const sent = request(new URL(path, this.#server.url), {
      method,
      agent: this.#agent,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        // Without a length node would send the body of a DELETE unframed.
        ...(bytes === undefined
          ? {}
          : { "content-type": "application/json", "content-length": String(Buffer.byteLength(bytes)) }),
        ...headers,
      },
    });
    sent.end(bytes);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return response;
  }

  async send<T = KubeBody>(path: string, init: RequestInit = {}): Promise<HttpResponse<T>> {
    const response = await this.open(path, init);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.statusCode ?? 0, headers: response.headers, text, json: json as T };
  }

  get = <T = KubeBody>(path: string, headers: Record<string, string> = {}) => this.send<T>(path, { headers });
  post = <T = KubeBody>(path: string, body: unknown, headers: Record<string, string> = {}) =>
    this.send<T>(path, { method: "POST", body, headers });
  put = (path: string, body: unknown) => this.send(path, { method: "PUT", body });
  delete = <T = KubeBody>(path: string, body?: unknown) => this.send<T>(path, { method: "DELETE", body });
  patch = (path: string, type: string, body: unknown) =>
    this.send(path, { method: "PATCH", body, headers: { "content-type": `application/${type}` } });

  /** The events of a watch, one by one; leaving the loop ends it. */
  async *watch<T = KubeBody>(
    path: string,
    headers: Record<string, string> = {},
  ): AsyncGenerator<WatchLine<T>, void> {
    const response = await this.open(path, { headers });
    try {
      if (response.statusCode !== 200) throw new Error(`the watch was refused with ${response.statusCode}`);
      for await (const line of createInterface({ input: response })) yield JSON.parse(line) as WatchLine<T>;
    } finally {
      response.destroy();
    }
  }
}

export interface WatchLine<T> {
  type: string;
  object: T;
}
