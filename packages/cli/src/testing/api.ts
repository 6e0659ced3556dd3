import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export interface CannedApi {
  url: string;
  /** Every request so far: `GET /api/v1/pods`. */
  requests: string[];
  /** Body and code of every response; by default an empty list. */
  response: (request: string) => { code: number; body: object };
  /** A file that leads here; gone after the test. */
  kubeconfig: string;
}

/** `kind: Config` for one server. */
export function kubeconfigOf(server: string, context = ""): string {
  return `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u${context}}}]
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: {}}]
`;
}

/** A folder of the test's own; gone after it. */
export async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-cli-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** An API server that returns what a test wants it to return. */
export async function cannedApi(t: TestContext, context = ""): Promise<CannedApi> {
  const folder = await folderOf(t);
  const api: CannedApi = {
    ...{ url: "", requests: [], kubeconfig: join(folder, "config") },
    response: () => ({ code: 200, body: { metadata: {}, items: [] } }),
  };
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    api.requests.push(line);
    const { code, body } = api.response(line);
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(api.kubeconfig, kubeconfigOf(api.url, context));
  return api;
}
