import type { Lease } from "@mooring/store";
import { LEASE_IMAGE_LABEL, LEASE_NAMESPACE, LEASE_NODE_LABEL, MOORING_API_VERSION } from "../api/names.ts";
import type { Volume } from "../api/volume.ts";
import { CLIENTS, withoutClients } from "./clients.ts";
import { CLUSTER, FENCED_BY, HANDED_TO, type LeaseStep, SHUT_OUT, TAKEN_FROM } from "./decide.ts";
import { leaseName } from "./lease-watch.ts";

/** Whose lease it becomes; `byCluster`: it does not end by time. */
interface Holder {
  nodeID: string;
  byCluster: boolean;
}

/** The Lease of a volume's image as this node writes it; `lease` is what is there. */
export function leaseFor(
  { nodeID, byCluster }: Holder,
  { metadata: { name, uid = "" } }: Volume,
  lease: Lease | undefined,
  { spec, takenFrom }: Extract<LeaseStep, { do: "write" }>,
): Lease {
  const labels = { [LEASE_IMAGE_LABEL]: name, [LEASE_NODE_LABEL]: nodeID };
  const owner = { apiVersion: MOORING_API_VERSION, kind: "Volume", name, uid };
  const {
    [TAKEN_FROM]: _before,
    [HANDED_TO]: _to,
    [SHUT_OUT]: _out,
    [FENCED_BY]: _by,
    [CLIENTS]: clients,
    ...kept
  } = lease?.metadata.annotations ?? {};
  // An agent of before has left its device open, or the last holder may have.
  const mayBeOpen = takenFrom !== undefined || lease?.spec?.holderIdentity === spec?.holderIdentity;
  const annotations = {
    ...kept,
    ...(byCluster ? { [FENCED_BY]: CLUSTER } : {}),
    ...(mayBeOpen && clients !== undefined ? { [CLIENTS]: clients } : {}),
  };
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      ...lease?.metadata,
      namespace: LEASE_NAMESPACE,
      name: leaseName(name),
      labels: { ...lease?.metadata.labels, ...labels },
      annotations: takenFrom === undefined ? annotations : { ...annotations, [TAKEN_FROM]: takenFrom },
      ownerReferences: [owner],
    },
    spec,
  };
}

/** The lease of an image that is closed, for whoever comes next; with `to` for the agent of that node alone. */
export function freeLease(lease: Lease, to?: string): Lease {
  const { metadata, spec } = lease;
  const { [LEASE_NODE_LABEL]: _node, ...labels } = metadata.labels ?? {};
  const annotations = { ...withoutClients(metadata), ...(to === undefined ? {} : { [HANDED_TO]: to }) };
  return { ...lease, metadata: { ...metadata, labels, annotations }, spec: { ...spec, holderIdentity: "" } };
}
