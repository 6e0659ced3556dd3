// One life of the garbage collector, of the controllers of namespaces and of aggregated roles, for a test that kills them: sets
// the scene when it is not there yet, works until everything that has to go is gone, and exits with 0. Argument: the state folder.
import {
  type ConfigMap,
  ConfigMaps,
  getIfAny,
  isNotFound,
  mutate,
  Namespaces,
  type OwnerReference,
  ownerReferenceTo,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { startGarbageCollector } from "../../controllers/garbage-collector/index.ts";
import { startNamespaceController } from "../../controllers/namespace/index.ts";
import { startRoleAggregation } from "../../controllers/role-aggregation/index.ts";
import { beginStoryLife } from "../../controllers/testing/story-life.ts";
import { ClusterRoles } from "../auth/rbac.ts";

const life = await beginStoryLife();
const { store, once } = life;

const at = (name: string, namespace = "default") => ({ namespace, name });

function make(
  name: string,
  ownerReferences: OwnerReference[] = [],
  metadata: Partial<ConfigMap["metadata"]> = {},
): Promise<ConfigMap> {
  const all = { ...at(name), ownerReferences, ...metadata };
  return store.create<ConfigMap>(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: all });
}

const HELD = "example.com/held";

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
  await makeCircle();
  const elsewhere = await make("elsewhere", [], { namespace: "kube-public" });
  await make("crossing", [ownerReferenceTo(elsewhere), ownerReferenceTo(kept, { controller: false })]);
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "leaving" } });
  for (const n of [1, 2, 3]) await make(`inside-${n}`, [], { namespace: "leaving" });
  await make("held", [], { namespace: "leaving", finalizers: [HELD] });
  await makeRoles();
  await store.delete(ConfigMaps, at("foreground"), { propagationPolicy: "Foreground" });
  await store.delete(ConfigMaps, at("circle-1"), { propagationPolicy: "Foreground" });
  await store.delete(ConfigMaps, at("orphaning"), { propagationPolicy: "Orphan" });
  await store.delete(ConfigMaps, at("background"), { propagationPolicy: "Background" });
  await store.delete(Namespaces, { name: "leaving" });
}

/** Two that own each other, and would wait for each other. */
async function makeCircle(): Promise<void> {
  const first = await make("circle-1");
  const second = await make("circle-2", [ownerReferenceTo(first)]);
  await mutate(store, ConfigMaps, at("circle-1"), ({ metadata }) => {
    metadata.ownerReferences = [ownerReferenceTo(second)];
  });
}

const RULES = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];

async function makeRoles(): Promise<void> {
  const kind = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  const matchLabels = { story: "yes" };
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels }] };
  await store.create(ClusterRoles, {
    ...kind,
    metadata: { name: "part", labels: matchLabels },
    rules: RULES,
  });
  await store.create(ClusterRoles, { ...kind, metadata: { name: "whole" }, aggregationRule, rules: [] });
}

await once("scene", setScene);
const parts = [
  await startGarbageCollector(life),
  await startNamespaceController({ ...life, caPem: "certificate" }),
  await startRoleAggregation(life),
];
await once("held", async () => {
  await eventually("the namespace reports what is in the way", async () => {
    const namespace = await getIfAny(store, Namespaces, { name: "leaving" });
    const reported = namespace?.status?.conditions?.some(({ message = "" }) => message.includes(HELD));
    return namespace === undefined || reported === true;
  });
  await mutate(store, ConfigMaps, at("held", "leaving"), ({ metadata }) => {
    metadata.finalizers = [];
  }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
});
const WANTED = ["crossing", "kept", "kube-root-ca.crt", "orphan-1", "orphan-2", "shared"];
await eventually("everything that has to go is gone", async () => {
  const { items } = await store.list(ConfigMaps, { namespace: "default" });
  const owners = items.flatMap(({ metadata }) => metadata.ownerReferences ?? []);
  const role = await store.get(ClusterRoles, { name: "whole" });
  return (
    items.map(({ metadata }) => metadata.name).join() === WANTED.join() &&
    owners.length === 3 &&
    (await getIfAny(store, Namespaces, { name: "leaving" })) === undefined &&
    JSON.stringify(role["rules"]) === JSON.stringify(RULES)
  );
});
await life.end(parts);
