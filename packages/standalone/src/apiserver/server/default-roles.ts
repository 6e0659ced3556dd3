import {
  defineResource,
  isAlreadyExists,
  isNotFound,
  type LocalStore,
  type UnstructuredObject,
} from "@mooring/store";
import type { PolicyRule } from "../auth/rules.ts";

const GROUP = "rbac.authorization.k8s.io";
const ClusterRoles = defineResource<UnstructuredObject>(GROUP, "v1", "ClusterRole", "clusterroles", false);

const READ = ["get", "list", "watch"];
const WRITE = [...READ, "create", "update", "patch", "delete", "deletecollection"];
/** What people work with in a namespace, secrets aside. */
const WORK = [
  "configmaps",
  "events",
  "persistentvolumeclaims",
  "persistentvolumeclaims/status",
  "pods",
  "pods/log",
  "pods/status",
  "serviceaccounts",
  "services",
  "services/status",
  "namespaces",
];
const SNAPSHOTS = {
  apiGroups: ["snapshot.storage.k8s.io"],
  resources: ["volumesnapshots", "volumesnapshots/status"],
};
const LEASES = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };

/** The roles that charts and people expect to find. */
const ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  "cluster-admin": [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    { verbs: ["*"], nonResourceURLs: ["*"] },
  ],
  admin: [
    {
      verbs: WRITE,
      apiGroups: [""],
      resources: [...WORK, "secrets", "pods/eviction", "serviceaccounts/token"],
    },
    { verbs: WRITE, apiGroups: [GROUP], resources: ["roles", "rolebindings"] },
    { verbs: WRITE, ...SNAPSHOTS },
    { verbs: WRITE, ...LEASES },
  ],
  edit: [
    { verbs: WRITE, apiGroups: [""], resources: [...WORK, "secrets", "pods/eviction"] },
    { verbs: WRITE, ...SNAPSHOTS },
    { verbs: WRITE, ...LEASES },
  ],
  view: [
    { verbs: READ, apiGroups: [""], resources: WORK },
    { verbs: READ, ...SNAPSHOTS },
  ],
};

/** Creates the roles that are missing; a role that was changed stays as it is. */
export async function ensureDefaultRoles(store: LocalStore): Promise<void> {
  // Servers for tests may not know the kind.
  if (store.registry.find(ClusterRoles) === undefined) return;
  await Promise.all(Object.entries(ROLES).map(([name, rules]) => ensure(store, name, rules)));
}

async function ensure(store: LocalStore, name: string, rules: readonly PolicyRule[]): Promise<void> {
  try {
    await store.get(ClusterRoles, { name });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };
    const role = { apiVersion: `${GROUP}/v1`, kind: "ClusterRole", metadata: { name, labels }, rules };
    await store.create(ClusterRoles, role, { fieldManager: "mooring" }).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}
