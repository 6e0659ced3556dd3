import { isAlreadyExists, isNotFound, type Namespace, Namespaces, type ObjectStore } from "@mooring/store";

const NAMES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** The namespaces that every cluster has. */
export async function ensureDefaultNamespaces(store: ObjectStore): Promise<void> {
  await Promise.all(NAMES.map((name) => ensureNamespace(store, name)));
}

async function ensureNamespace(store: ObjectStore, name: string): Promise<void> {
  try {
    await store.get(Namespaces, { name });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const namespace: Namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await store.create(Namespaces, namespace, { fieldManager: "mooring" }).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}
