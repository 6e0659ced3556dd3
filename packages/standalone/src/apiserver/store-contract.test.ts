import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalStore, Namespaces, RestStore, silentLogger } from "@mooring/store";
import { objectStoreContract, Shelves, testRegistry, Widgets } from "@mooring/store/contract";
import { createKindRegistry } from "./kind-info.ts";
import { startApiServer } from "./start.ts";
import { plainKind, registerPlainKinds } from "./testing/plain-kinds.ts";

objectStoreContract("RestStore over the API server", async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "mooring-apiserver-"));
  const registry = testRegistry();
  const kinds = createKindRegistry();
  registerPlainKinds(registry, kinds);
  kinds.set(plainKind(Widgets, { subresources: { status: true }, custom: true }));
  kinds.set(plainKind(Shelves));
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
