import { NodeAgents, RecurringJobs, ShareManagers, VolumeSets } from "@mooring/engine";
import { VolumeGroupClasses, VolumeGroupContents } from "@mooring/sidecars";
import {
  ConfigMaps,
  ControllerRevisions,
  CronJobs,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Deployments,
  Jobs,
  Leases,
  Namespaces,
  Nodes,
  type ObjectStore,
  ReplicaSets,
  type Resource,
  ResourceQuotas,
  Secrets,
  ServiceAccounts,
  StatefulSets,
  StorageClasses,
  VolumeAttributesClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
} from "@mooring/store";
import type { Context, ExplainedKind } from "./context.ts";
import { explainAny } from "./explain-any.ts";
import { explainAttachment } from "./explain-attachment.ts";
import { explainClaim } from "./explain-claim.ts";
import { explainEngineGroup, explainGroupRestore, explainGroupSnapshot } from "./explain-group.ts";
import { explainGroupClone } from "./explain-group-clone.ts";
import { explainGroupRevert } from "./explain-group-revert.ts";
import { explainPod } from "./explain-pod.ts";
import { explainPool } from "./explain-pool.ts";
import { EndpointSlices, Endpoints, explainService } from "./explain-service.ts";
import { explainEngineSnapshot, explainSnapshot } from "./explain-snapshot.ts";
import { explainVolumeGroup } from "./explain-volume-group.ts";
import { workloadExplainer } from "./explain-workload.ts";
import { type Finding, finding } from "./finding.ts";
import { claimAndUsers, persistentVolumeAndUsers, volumeAndUsers } from "./with-users.ts";

type Explain = (context: Context, namespace: string, name: string) => Promise<Finding>;

const whole =
  (explain: (context: Context, name: string) => Promise<Finding>): Explain =>
  (context, _, name) =>
    explain(context, name);
const any =
  (resource: Resource): Explain =>
  (context, namespace, name) =>
    explainAny(context, resource, { namespace, name });

/** Every kind, by the names that it may be called by; the first is the one that help and errors give. */
const KINDS: readonly (readonly [names: readonly string[], explain: Explain])[] = [
  [["pod", "pods", "po"], explainPod],
  [["pvc", "persistentvolumeclaim", "persistentvolumeclaims", "claim"], claimAndUsers],
  [["volumesnapshot", "volumesnapshots", "vs"], explainSnapshot],
  [["volumegroup", "volumegroups", "vg"], explainVolumeGroup],
  [["volumegroupsnapshot", "volumegroupsnapshots", "vgs"], explainGroupSnapshot],
  [["volumegrouprestore", "volumegrouprestores", "vgr"], explainGroupRestore],
  [["volumegroupclone", "volumegroupclones", "vgclone"], explainGroupClone],
  [["volumegrouprevert", "volumegroupreverts", "vgrv"], explainGroupRevert],
  [["pv", "persistentvolume", "persistentvolumes"], whole(persistentVolumeAndUsers)],
  [["volume", "volumes"], whole(volumeAndUsers)],
  [["volumeattachment", "volumeattachments", "mva"], whole(explainAttachment)],
  [["snapshot", "snapshots"], whole(explainEngineSnapshot)],
  [["groupsnapshot", "groupsnapshots"], whole(explainEngineGroup)],
  [["pool", "pools"], whole(explainPool)],
  [["node", "nodes", "no"], any(Nodes)],
  [["nodeagent", "nodeagents"], any(NodeAgents)],
  [["sharemanager", "sharemanagers"], any(ShareManagers)],
  [["recurringjob", "recurringjobs"], any(RecurringJobs)],
  [["volumeset", "volumesets"], any(VolumeSets)],
  [["storageclass", "storageclasses", "sc"], any(StorageClasses)],
  [["volumesnapshotcontent", "volumesnapshotcontents", "vsc"], any(VolumeSnapshotContents)],
  [["volumegroupcontent", "volumegroupcontents", "vgcontent"], any(VolumeGroupContents)],
  [["volumegroupclass", "volumegroupclasses", "vgclass"], any(VolumeGroupClasses)],
  [["volumegroupsnapshotcontent", "volumegroupsnapshotcontents", "vgsc"], any(VolumeGroupSnapshotContents)],
  [["volumesnapshotclass", "volumesnapshotclasses"], any(VolumeSnapshotClasses)],
  [["volumegroupsnapshotclass", "volumegroupsnapshotclasses"], any(VolumeGroupSnapshotClasses)],
  [["volumeattributesclass", "volumeattributesclasses", "vac"], any(VolumeAttributesClasses)],
  [["csidriver", "csidrivers"], any(CSIDrivers)],
  [["csinode", "csinodes"], any(CSINodes)],
  [["deployment", "deployments", "deploy"], workloadExplainer(Deployments)],
  [["statefulset", "statefulsets", "sts"], workloadExplainer(StatefulSets)],
  [["replicaset", "replicasets", "rs"], workloadExplainer(ReplicaSets)],
  [["job", "jobs"], workloadExplainer(Jobs)],
  [["cronjob", "cronjobs", "cj"], workloadExplainer(CronJobs)],
  [["resourcequota", "resourcequotas", "quota"], any(ResourceQuotas)],
  [["namespace", "namespaces", "ns"], any(Namespaces)],
  [["csistoragecapacity", "csistoragecapacities"], any(CSIStorageCapacities)],
  [["controllerrevision", "controllerrevisions"], any(ControllerRevisions)],
  [["configmap", "configmaps", "cm"], any(ConfigMaps)],
  [["service", "services", "svc"], explainService],
  [["endpoints", "ep"], any(Endpoints)],
  [["endpointslice", "endpointslices"], any(EndpointSlices)],
  [["secret", "secrets"], any(Secrets)],
  [["serviceaccount", "serviceaccounts", "sa"], any(ServiceAccounts)],
  [["lease", "leases"], any(Leases)],
];

const BY_NAME = new Map(KINDS.flatMap(([names, explain]) => names.map((name) => [name, explain] as const)));

/** The names that help and errors give. */
export const SHOWN: readonly string[] = KINDS.map(([[first = ""]]) => first);

/** How a kind is explained, by any of its names. */
export function explainerOf(kind: string): Explain | undefined {
  return BY_NAME.get(kind.toLowerCase());
}

/** How the kinds that lead to each other are called. */
const TITLES: Readonly<Record<ExplainedKind, string>> = {
  node: "Node",
  pvc: "PersistentVolumeClaim",
  volumegroup: "VolumeGroup",
  volumesnapshot: "VolumeSnapshot",
};

/** What the explainers share. `way`: which objects have led here, as a claim may be a copy of what is made from it. */
export function contextOf(store: ObjectStore, way: readonly string[] = []): Context {
  return {
    store,
    explain: async (kind, namespace, name) => {
      const subject = `${TITLES[kind]} ${namespace === "" ? "" : `${namespace}/`}${name}`;
      if (way.includes(subject))
        return finding("failed", subject, "waits for what waits for it", {
          next: "delete one of them, and create it again from another source",
        });
      // What its pods have lost of a claim is in the way of nothing that waits for it.
      const explain = kind === "pvc" ? explainClaim : (BY_NAME.get(kind) as Explain);
      return explain(contextOf(store, [...way, subject]), namespace, name);
    },
  };
}

/** Kinds that operators have in mind when they name an object without its kind. */
const NAMELESS = [
  "pod",
  "pvc",
  "volumesnapshot",
  "volumegroup",
  "volumegroupsnapshot",
  "volumegrouprestore",
  "volumegrouprevert",
  "volumegroupclone",
  "pv",
  "volume",
  "snapshot",
  "pool",
  "node",
  "deployment",
  "statefulset",
  "job",
  "cronjob",
];

/** Everything that has this name, explained: one finding per object. */
export async function explainNamed(context: Context, namespace: string, name: string): Promise<Finding[]> {
  const found = await Promise.all(
    NAMELESS.map((kind) => (BY_NAME.get(kind) as Explain)(context, namespace, name)),
  );
  return found.filter(({ message }) => message !== "does not exist");
}
