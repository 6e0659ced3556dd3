import {
  GroupSnapshots,
  LEASE_NAMESPACE,
  NodeAgents,
  Pools,
  RecurringJobs,
  ShareManagers,
  Snapshots,
  VolumeAttachments,
  VolumeGroupReverts,
  VolumeSets,
  Volumes,
} from "@mooring/engine";
import {
  CONTROLLERS,
  type ControllerName,
  controllerNeeds,
  EVERY_CONTROLLER,
  electionNeeds,
  type Needs,
  type Right,
} from "@mooring/sidecars";
import { KubeVolumeAttachments, Leases, Nodes, Pods, type Resource } from "@mooring/store";

const READ = ["get", "list", "watch"];
const right = (resource: Resource, ...verbs: string[]): Right => ({ resource, verbs: [...READ, ...verbs] });
const status = (resource: Resource): Right => ({ resource, subresource: "status", verbs: ["update"] });

/** What the engine's part of the controller does, beside the sidecars: deploy/manifests/rbac.yaml gives it. */
export const CONTROLLER_RIGHTS: readonly Right[] = [
  ...[Volumes, VolumeAttachments, GroupSnapshots].flatMap((resource) => [
    right(resource, "create", "update", "delete"),
    status(resource),
  ]),
  // Their status is the nodes' to write.
  right(Snapshots, "create", "delete"),
  right(ShareManagers, "create", "update", "delete"),
  { resource: VolumeSets, verbs: ["get", "list", "create", "update", "delete"] },
  right(RecurringJobs),
  status(RecurringJobs),
  right(VolumeGroupReverts, "update"),
  status(VolumeGroupReverts),
  right(Pools),
  right(NodeAgents),
  status(NodeAgents),
  { resource: Nodes, verbs: ["list", "watch"] },
  // Before a group goes back in place: who uses it.
  { resource: Pods, verbs: ["list"] },
  right(KubeVolumeAttachments),
  { resource: Leases, verbs: ["list", "watch"], inNamespace: LEASE_NAMESPACE },
];

/** What a node's agent and CSI node service do. */
export const NODE_RIGHTS: readonly Right[] = [
  ...[Volumes, Snapshots, GroupSnapshots, ShareManagers].flatMap((resource) => [
    right(resource, ...(resource === ShareManagers || resource === GroupSnapshots ? [] : ["update"])),
    status(resource),
  ]),
  right(Pools, "create", "update"),
  status(Pools),
  right(NodeAgents, "create"),
  status(NodeAgents),
  right(VolumeAttachments),
  { resource: Leases, verbs: [...READ, "create", "update", "delete"], inNamespace: LEASE_NAMESPACE },
  ...EVERY_CONTROLLER,
];

/** What every process that is the engine of a cluster needs, while it leads and to lead. */
export const ENGINE_NEEDS: Needs = new Map([["engine", CONTROLLER_RIGHTS]]);

/** What the agent of a node needs. */
export const NODE_NEEDS: Needs = new Map([["node", NODE_RIGHTS]]);

/** The node's kubelet registers the driver, so no controller does, and its CSIDriver object comes with the manifests. */
const MADE_BY_OTHERS: ReadonlySet<ControllerName> = new Set(["node-registration", "csi-driver"]);
const RUN_HERE = (Object.keys(CONTROLLERS) as ControllerName[]).filter((name) => !MADE_BY_OTHERS.has(name));

/** What the accounts of a cluster's processes need: of each what its process asks for at its start, with every controller. */
export const ACCOUNT_RIGHTS: Readonly<Record<string, Needs>> = {
  "mooring-controller": new Map([...ENGINE_NEEDS, ...controllerNeeds(RUN_HERE), ...electionNeeds({})]),
  "mooring-node": NODE_NEEDS,
};
