// One life of the garbage collector and the namespace controller, for a test that kills them: sets the scene when it
// is not there yet, works until everything that has to go is gone, and exits with 0. Argument: the state folder.
import { setMaxListeners } from "node:events";
import {
  type ConfigMap,
  ConfigMaps,
  isAlreadyExists,
  isNotFound,
  LocalStore,
  Namespaces,
  type OwnerReference,
  ownerReferenceTo,
  ResourceRegistry,
  silentLogger,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { registerBuiltins } from "../../builtin/index.ts";
import { startGarbageCollector } from "../../controllers/garbage-collector/index.ts";
import { startNamespaceController } from "../../controllers/namespace/index.ts";
import { createKindRegistry } from "../../kinds/kind-info.ts";
import { ensureDefaultNamespaces } from "../server/default-namespaces.ts";

const [path = ""] = process.argv.slice(2);
const registry = new ResourceRegistry();
const kinds = createKindRegistry();
registerBuiltins(registry, kinds);
const store = await LocalStore.open({ path, registry, requireNamespaces: true });
const stopping = new AbortController();
const { signal } = stopping;
setMaxListeners(0, signal);
await ensureDefaultNamespaces(store);

const at = (name: string, namespace = "default") => ({ namespace, name });

async function make(name: string, owners: OwnerReference[] = [], namespace = "default"): Promise<ConfigMap> {
  const metadata = { ...at(name, namespace), ownerReferences: owners };
  try {
    return await store.create<ConfigMap>(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata });
  } catch (error) {
    if (isAlreadyExists(error)) return store.get<ConfigMap>(ConfigMaps, at(name, namespace));
    throw error;
  }
}

const exists = async (name: string) => {
  try {
    await store.get<ConfigMap>(ConfigMaps, at(name));
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

/** The last object of the scene proves that all of it was made. */
async function setScene(): Promise<void> {
  const foreground = await make("foreground");
  await make("foreground-child", [ownerReferenceTo(foreground)]);
  const orphaning = await make("orphaning");
  await make("orphan-1", [ownerReferenceTo(orphaning)]);
  await make("orphan-2", [ownerReferenceTo(orphaning)]);
  const background = await make("background");
  await make("background-child", [ownerReferenceTo(background)]);
  const kept = await make("kept");
  await make("shared", [ownerReferenceTo(background, { controller: false }), ownerReferenceTo(kept)]);
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "leaving" } });
  for (const n of [1, 2, 3]) await make(`inside-${n}`, [], "leaving");
  await store.delete(ConfigMaps, at("foreground"), { propagationPolicy: "Foreground" });
  await store.delete(ConfigMaps, at("orphaning"), { propagationPolicy: "Orphan" });
  await store.delete(ConfigMaps, at("background"), { propagationPolicy: "Background" });
  await store.delete(Namespaces, { name: "leaving" });
  await make("scene-is-set");
}

if (!(await exists("scene-is-set"))) await setScene();
const common = { store, kinds, logger: silentLogger, signal };
const parts = [
  await startGarbageCollector(common),
  await startNamespaceController({ ...common, caPem: "certificate" }),
];
const WANTED = ["kept", "kube-root-ca.crt", "orphan-1", "orphan-2", "scene-is-set", "shared"];
await eventually("everything that has to go is gone", async () => {
  const { items } = await store.list(ConfigMaps, { namespace: "default" });
  const namespaces = await store.list(Namespaces);
  const names = items.map(({ metadata }) => metadata.name);
  const owners = items.flatMap(({ metadata }) => metadata.ownerReferences ?? []);
  return (
    names.join() === WANTED.join() &&
    owners.length === 1 &&
    !namespaces.items.some(({ metadata }) => metadata.name === "leaving")
  );
});
stopping.abort();
await Promise.all(parts.map(({ done }) => done));
await store.close();
