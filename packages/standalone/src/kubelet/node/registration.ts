import { isDeepStrictEqual } from "node:util";
import {
  defined,
  delay,
  failpoint,
  isAlreadyExists,
  isNotFound,
  type Lease,
  Leases,
  type Logger,
  mutate,
  Nodes,
  type ObjectStore,
} from "@mooring/store";
import { STOPPED_REASON } from "../../controllers/node-stopped.ts";
import {
  type MachineFacts,
  type NodeFindings,
  type NodeSettings,
  nodeLabels,
  nodeStatus,
} from "./node-object.ts";

const afterRegister = failpoint("standalone/kubelet/node-registered");

const HEARTBEAT_MS = 10_000;
const LEASE_SECONDS = 40;
const LEASE_NAMESPACE = "kube-node-lease";

/** The Node object of this machine, and the sign of life beside it. */
export interface NodeRegistration {
  /** Reports that no pod runs here any more and no volume is needed. */
  markStopped(): Promise<void>;
  readonly done: Promise<void>;
}

/** How a node is registered. */
export interface RegistrationOptions {
  settings?: NodeSettings;
  /** Why the node's disks are under pressure now; undefined: they are not. */
  diskPressure(): Promise<string | undefined>;
  logger: Logger;
  signal: AbortSignal;
}

/** Makes the Node object, or takes the one that is there, sets its labels, and reports Ready until it is stopped. */
export async function registerNode(
  store: ObjectStore,
  facts: MachineFacts,
  options: RegistrationOptions,
): Promise<NodeRegistration> {
  const { settings = {}, diskPressure } = options;
  const key = { name: facts.nodeName };
  await createNode(store, facts, settings);
  const labels = { ...settings.labels, ...nodeLabels(facts) };
  await mutate(store, Nodes, key, (node) => ({
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...labels } },
  }));
  await report(store, facts, await working(diskPressure));
  afterRegister();
  const done = beat(store, facts, options);
  return {
    done,
    markStopped: () =>
      report(store, facts, {
        ready: {
          status: "False",
          reason: STOPPED_REASON,
          message: "Mooring was stopped on this machine; its pods start again with it",
        },
      }),
  };
}

async function createNode(
  store: ObjectStore,
  facts: MachineFacts,
  { labels, taints }: NodeSettings,
): Promise<void> {
  try {
    await store.create(Nodes, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: facts.nodeName, labels: { ...labels, ...nodeLabels(facts) } },
      spec: defined({ taints }),
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function working(diskPressure: RegistrationOptions["diskPressure"]): Promise<NodeFindings> {
  const ready = { status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
  return { ready, ...defined({ diskPressure: await diskPressure() }) };
}

async function report(store: ObjectStore, facts: MachineFacts, found: NodeFindings): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  await mutate(
    store,
    Nodes,
    { name: facts.nodeName },
    {
      change: (node) => {
        const status = nodeStatus(node.status, facts, found, now);
        return same(node.status, status) ? node : { ...node, status };
      },
      subresource: "status",
    },
  );
}

/** The lease shows that the node is alive; the heartbeat times in the status alone are not worth a write. */
function same(a: object | undefined, b: object): boolean {
  const plain = (status: object | undefined) =>
    JSON.parse(
      JSON.stringify(status ?? {}, (name, value) => (name === "lastHeartbeatTime" ? undefined : value)),
    );
  return isDeepStrictEqual(plain(a), plain(b));
}

async function beat(
  store: ObjectStore,
  facts: MachineFacts,
  { settings = {}, diskPressure, logger, signal }: RegistrationOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await renew(store, facts.nodeName);
      // Also brings the object back when an operator has deleted it.
      await report(store, facts, await working(diskPressure));
    } catch (error) {
      if (isNotFound(error)) await createNode(store, facts, settings).catch(() => {});
      logger.warn({ err: error }, "cannot renew the node's sign of life");
    }
    await delay(HEARTBEAT_MS, signal).catch(() => {});
  }
}

async function renew(store: ObjectStore, nodeName: string): Promise<void> {
  const key = { namespace: LEASE_NAMESPACE, name: nodeName };
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: nodeName, leaseDurationSeconds: LEASE_SECONDS, renewTime };
  try {
    await mutate(store, Leases, key, (lease) => ({ ...lease, spec: { ...lease.spec, ...spec } }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const lease: Lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: key, spec };
    await store.create(Leases, lease);
  }
}
