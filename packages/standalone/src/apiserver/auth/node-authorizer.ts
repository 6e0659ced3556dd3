import {
  isNotFound,
  type JsonStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
  type Resource,
} from "@mooring/store";
import type { Attributes } from "./attributes.ts";
import { isNodeRight } from "./node-rules.ts";
import { namedBy } from "./pod-references.ts";

type Asked = Extract<Attributes, { type: "resource" }>;

/** The Secret by which the API server reaches the logs that a node keeps. */
export const logAccessName = (node: string): string => `mooring-node-logs-${node}`;

/** Whether a node may: by the rule book, or because a pod that is bound to it needs it. */
export async function nodeMay(node: string, asked: Attributes, store: JsonStore): Promise<boolean> {
  if (asked.type !== "resource") return false;
  if (isNodeRight(asked, node)) return true;
  if (asked.group !== "") return false;
  switch (asked.resource) {
    case "pods":
      return podAccess(node, asked, store);
    case "secrets":
      return secretAccess(node, asked, store);
    case "configmaps":
      return isReading(asked) && isNamedByPod(node, asked, store);
    case "serviceaccounts":
      return isOwnAccount(asked) && isNamedByPod(node, asked, store);
    case "persistentvolumeclaims":
      return isClaimStatus(asked) && isNamedByPod(node, asked, store);
    default:
      return false;
  }
}

/** A collection only when it is a collection of one: `metadata.name=`. */
const isReading = ({ verb, subresource, name, namespace }: Asked) =>
  ["get", "list", "watch"].includes(verb) && subresource === "" && name !== "" && namespace !== "";

/** The account of a pod: it is read by its name, and tokens are asked for. */
const isOwnAccount = ({ verb, subresource }: Asked) =>
  (verb === "get" && subresource === "") || (verb === "create" && subresource === "token");

const isClaimStatus = ({ verb, subresource }: Asked) =>
  subresource === "status" && (verb === "update" || verb === "patch");

async function podAccess(node: string, asked: Asked, store: JsonStore): Promise<boolean> {
  const { verb, subresource, name, namespace, fields = [] } = asked;
  if (subresource !== "" && subresource !== "eviction") return false;
  const selected = fields.some(
    ({ field, equal, value }) => equal && field === "spec.nodeName" && value === node,
  );
  if ((verb === "list" || verb === "watch") && selected) return true;
  const own = async () => get<Pod>(store, Pods, { namespace, name })?.spec?.nodeName === node;
  if (subresource === "eviction") return verb === "create" && (await own());
  return ["get", "list", "watch", "delete"].includes(verb) && name !== "" && (await own());
}

async function secretAccess(node: string, asked: Asked, store: JsonStore): Promise<boolean> {
  const { verb, name, namespace, subresource } = asked;
  const logs = namespace === "kube-system" && name === logAccessName(node) && subresource === "";
  if (logs && ["get", "update", "patch", "delete"].includes(verb)) return true;
  if (verb === "create" && namespace === "kube-system" && subresource === "") return true;
  return isReading(asked) && (await isNamedByPod(node, asked, store));
}

/** By a pod that runs here, or by a volume that such a pod has. */
async function isNamedByPod(node: string, asked: Asked, store: JsonStore): Promise<boolean> {
  const { resource, name, namespace } = asked;
  const { items } = await store.list<Pod>(Pods, { fieldSelector: `spec.nodeName=${node}` });
  for (const pod of items) {
    if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") continue;
    if (pod.metadata.namespace === namespace && namedBy(pod)[resource]?.has(name) === true) return true;
    if (resource === "secrets" && claimSecrets(pod, store).includes(`${namespace}/${name}`)) return true;
  }
  return false;
}

/** The secrets that the driver is given with a pod's volumes. */
function claimSecrets({ metadata, spec }: Pod, store: JsonStore): string[] {
  const { namespace = "", name: podName } = metadata;
  const claims = (spec?.volumes ?? []).map(({ name, persistentVolumeClaim, ephemeral }) =>
    ephemeral === undefined ? persistentVolumeClaim?.claimName : `${podName}-${name}`,
  );
  return claims.flatMap((name) => {
    if (name === undefined) return [];
    const claim = get<PersistentVolumeClaim>(store, PersistentVolumeClaims, { namespace, name });
    const volumeName = claim?.spec?.volumeName;
    if (volumeName === undefined) return [];
    const csi = get<PersistentVolume>(store, PersistentVolumes, { name: volumeName })?.spec?.csi;
    const refs = [csi?.nodeStageSecretRef, csi?.nodePublishSecretRef, csi?.nodeExpandSecretRef];
    return refs.flatMap((ref) => (ref === undefined ? [] : [`${ref.namespace}/${ref.name}`]));
  });
}

function get<T>(
  store: JsonStore,
  resource: Resource,
  key: { namespace?: string; name: string },
): T | undefined {
  try {
    return JSON.parse(store.getJson(resource, key)) as T;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
