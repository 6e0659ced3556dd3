import { Agent, request } from "node:https";
import { defined, kubeconfigAccess } from "@mooring/store";

/** Who asks, with the groups that come along; default: the administrator. */
export interface Who {
  user: string;
  groups?: readonly string[];
  /** More headers of impersonation. */
  headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  code: number;
  /** The object, the list or the Status. */
  body: {
    message?: string;
    metadata?: { uid?: string };
    status?: { allowed?: boolean } & object;
    details?: { causes?: { reason?: string; field?: string }[] };
  };
}

/** Requests to an API server as its administrator, who may speak for others. */
export class Connection {
  readonly #agent: Agent;
  readonly #server: string;
  readonly #headers: Record<string, string>;

  private constructor(server: string, agent: Agent, headers: Record<string, string>) {
    this.#agent = agent;
    this.#server = server;
    this.#headers = headers;
  }

  static async open(kubeconfig: string): Promise<Connection> {
    const { server, tls, authorization } = await kubeconfigAccess(kubeconfig);
    const header = await authorization?.(false);
    const agent = new Agent({ keepAlive: true, maxSockets: 8, ...tls });
    return new Connection(server, agent, defined({ authorization: header }));
  }

  close(): void {
    this.#agent.destroy();
  }

  send(
    method: string,
    path: string,
    { body, type = "application/json", who }: { body?: string; type?: string; who?: Who } = {},
  ): Promise<Reply> {
    const headers: Record<string, string | string[]> = { ...this.#headers, ...who?.headers };
    if (who !== undefined) headers["impersonate-user"] = who.user;
    if (who?.groups !== undefined) headers["impersonate-group"] = [...who.groups];
    if (body !== undefined)
      Object.assign(headers, { "content-type": type, "content-length": String(Buffer.byteLength(body)) });
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, this.#server),
        { method, headers, agent: this.#agent },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({ code: response.statusCode ?? 0, body: read(Buffer.concat(chunks).toString()) }),
          );
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

function read(text: string): Reply["body"] {
  try {
    return JSON.parse(text) as Reply["body"];
  } catch {
    return { message: text };
  }
}
