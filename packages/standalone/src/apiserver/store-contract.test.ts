import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalStore, Namespaces, type Resource, RestStore, silentLogger } from "@mooring/store";
import { objectStoreContract, Shelves, testRegistry, Widgets } from "@mooring/store/contract";
import { registerBuiltins } from "../builtin/index.ts";
import { createKindRegistry, type KindInfo } from "../kinds/kind-info.ts";
import { startApiServer } from "./start.ts";

/** A kind without schema and columns: what the server does on its own. */
function plainKind(resource: Resource, status: boolean): KindInfo {
  const { version, kind } = resource;
  const names = { singular: kind.toLowerCase(), shortNames: [], categories: [], listKind: `${kind}List` };
  const subresources = { status };
  return {
    resource,
    versions: [version],
    ...names,
    columns: {},
    subresources,
    custom: true,
    schema: () => undefined,
  };
}

objectStoreContract("RestStore over the API server", async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "mooring-apiserver-"));
  const registry = testRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  kinds.set(plainKind(Widgets, true));
  kinds.set(plainKind(Shelves, false));
  const local = await LocalStore.open({ path: join(stateDir, "store"), registry });
  const stop = new AbortController();
  const options = { store: local, kinds, stateDir, listen: "127.0.0.1:0", logger: silentLogger };
  const server = await startApiServer({ ...options, signal: stop.signal });
  const store = await RestStore.fromKubeconfig(server.kubeconfig);
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } });
  t.after(async () => {
    store.close();
    stop.abort();
    await server.done;
    await local.close();
    await rm(stateDir, { recursive: true, force: true });
  });
  return store;
});
