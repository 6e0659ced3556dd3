import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export interface SmallRegistry {
  /** `127.0.0.1:PORT` */
  address: string;
  /** `METHOD PATH` of every request. */
  readonly requests: string[];
  /** `user:password` that it wants from now on; undefined: any client may read. */
  credentials: string | undefined;
  close(): Promise<void>;
}

/** Serves the images of an OCI layout as `app:TAG`, over plain HTTP on the loopback interface. */
export async function smallRegistry(layout: string): Promise<SmallRegistry> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const { method = "", url = "" } = request;
    requests.push(`${method} ${url}`);
    const { credentials } = registry;
    if (credentials !== undefined && request.headers.authorization !== `Basic ${btoa(credentials)}`) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="small"' }).end();
      return;
    }
    const found =
      url === "/v2/" ? { type: "application/json", body: Buffer.from("{}") } : await contentAt(layout, url);
    if (found === undefined) response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    else {
      response.writeHead(200, { "content-type": found.type, "content-length": found.body.length });
      response.end(method === "HEAD" ? undefined : found.body);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const registry: SmallRegistry = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    credentials: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return registry;
}

async function contentAt(layout: string, url: string): Promise<{ type: string; body: Buffer } | undefined> {
  const [, kind = "", name = ""] = /^\/v2\/app\/(manifests|blobs)\/([\w.:-]+)$/.exec(url) ?? [];
  if (kind === "") return undefined;
  const digest = name.startsWith("sha256:") ? name : await digestOf(layout, name);
  const body = await readFile(join(layout, "blobs/sha256", digest.slice("sha256:".length))).catch(
    () => undefined,
  );
  const type = kind === "blobs" ? "application/octet-stream" : "application/vnd.oci.image.manifest.v1+json";
  return body === undefined ? undefined : { type, body };
}

async function digestOf(layout: string, tag: string): Promise<string> {
  const { manifests } = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
  const named = (each: { annotations?: Record<string, string> }) =>
    each.annotations?.["org.opencontainers.image.ref.name"] === tag;
  return manifests.find(named)?.digest ?? "";
}
