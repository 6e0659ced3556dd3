/** What shows that a feature of the sidecars is there: a file, and what the title of its test has. Or why it is not. */
export type Feature =
  | readonly [feature: string, file: string, test: string]
  | readonly [feature: string, why: string];

const OF = "packages/sidecars/src";
const START = `${OF}/start.test.ts`;
const LEASES = `${OF}/sidecar-leases.test.ts`;
const HEALTH = `${OF}/health/health.test.ts`;
const PLAN = `${OF}/provision/plan.test.ts`;
const PLAN_SOURCE = `${OF}/provision/plan-source.test.ts`;
const PROVISION = `${OF}/provision/provision.test.ts`;
const SOURCES = `${OF}/provision/data-sources.test.ts`;
const PLACES = `${OF}/topology/requirement.test.ts`;
const SECRET = `${OF}/secrets/references.test.ts`;
const RECLAIM = `${OF}/reclaim/decide.test.ts`;
const CAPACITY = `${OF}/capacity/capacity.test.ts`;
const NODES = `${OF}/node-deployment.test.ts`;
const CODES = `${OF}/csi/codes.test.ts`;
const ATTACH = `${OF}/attach/attach.test.ts`;
const RESIZE = `${OF}/resize/resize.test.ts`;
const SIZES = `${OF}/resize/sizes.test.ts`;
const MODIFY = `${OF}/modify/modify.test.ts`;
const SNAPSHOT = `${OF}/snapshot/snapshot.test.ts`;
const CLASS = `${OF}/snapshot/class.test.ts`;
const IMPORTED = `${OF}/snapshot/pre-provisioned.test.ts`;
const GROUP = `${OF}/group-snapshot/dynamic.test.ts`;
const DEFECTS = `${OF}/group-snapshot/defects.test.ts`;
const GROUP_CLASS = `${OF}/group-snapshot/class.test.ts`;
const GROUP_IMPORTED = `${OF}/group-snapshot/imported.test.ts`;
const GROUP_DELETION = `${OF}/group-snapshot/deletion.test.ts`;
const PROTECTION = `${OF}/claim-protection/claim-protection.test.ts`;
const CRASH = `${OF}/crash/crash.test.ts`;
const FLAGS = "packages/cli/src/options/sidecar-flags.test.ts";
const PROVISION_FLAGS = "packages/cli/src/options/provision-options.test.ts";
const REGISTRATION = "packages/standalone/src/kubelet/driver-registration/driver-registration.test.ts";

/** Of all of them (1.0). */
const COMMON: readonly Feature[] = [
  ["every flag", FLAGS, "every flag of every sidecar is taken as it is"],
  ["leader election", START, "one of two processes works"],
  ["names of leases", LEASES, "each part has the lease of the sidecar"],
  ["a lease is given back", LEASES, "no part works while a sidecar"],
  ["labels of leases", LEASES, "no part works while a sidecar"],
  ["a lost lease", "packages/store/src/controller/lease.test.ts", "a holder that cannot renew"],
  ["a leader that is killed", "test/kubernetes/control-plane/failover.test.ts", "a leader that is killed"],
  [
    "renewals have a client of their own",
    "no client limits requests, so none waits for others of this process",
  ],
  ["a limit of requests", "the API server's own fairness limits them; 429 is heeded"],
  ["a socket that is lost", HEALTH, "whether the driver responds is known all the time"],
  ["a termination log", "the process does not end when a driver does: events and /metrics say it"],
  ["Probe until ready", START, "a driver that is not there, or not ready yet"],
  ["no secret in a log", START, "what is in a secret is in no log"],
  ["csi_sidecar_operations_seconds", START, "every call to the driver is measured"],
  ["workqueue_*", "packages/cli/src/process/reconcile-metrics.test.ts", "what controllers do is counted"],
  ["access modes", `${OF}/csi/access-modes.test.ts`, "access modes map to CSI modes"],
  ["one mode of several", `${OF}/csi/access-modes.test.ts`, "one mode for a set of modes"],
  ["what runs follows from capabilities", START, "what runs follows from what the driver can"],
  ["capabilities are read again", HEALTH, "a driver that comes back as a newer one"],
  ["what is infeasible is tried rarely", PROVISION, "an infeasible claim is repeated rarely"],
  ["back-off for ever", `${OF}/common/backoff.test.ts`, "back-off doubles up to the maximum"],
];

/** csi-provisioner (1.1). */
const PROVISIONER: readonly Feature[] = [
  ["flags of claims", PROVISION_FLAGS, "the flags of external-provisioner are taken"],
  ["names of volumes", PLAN, "names can have another prefix"],
  ["many workers", START, "claims at once: one call, one object each"],
  ["names of objects for the driver", PLAN, "the three metadata parameters"],
  ["a default file system", PLAN, "volume modes, access modes, mount options"],
  ["read-only volumes", PLAN, "readOnly only for a single"],
  ["strict topology", PLACES, "strict: only the selected node's place"],
  ["immediate topology", PLACES, "immediate binding without keys anywhere"],
  ["stateful sets are spread", PLACES, "immediate binding spreads replicas"],
  ["clusters with mixed keys", PLACES, "nodes with other keys are left out"],
  ["allowed topologies", PLACES, "allowedTopologies become the requisite"],
  ["a place of the selected node first", PLACES, "the selected node's place is preferred"],
  ["node affinity", PLACES, "accessible topology becomes node affinity"],
  ["a node that vanishes", PROVISION, "the node and its CSINode vanish"],
  ["WaitForFirstConsumer", PROVISION, "WaitForFirstConsumer: waits for a node"],
  ["a node without room", PROVISION, "no room on the selected node"],
  ["volume.alpha.kubernetes.io/selected-node", "no scheduler since Kubernetes 1.13 writes it"],
  ["migration", "volumes of in-tree plugins are not translated: Kubernetes 1.35 has hardly any left"],
  ["what a driver cannot", PLAN, "missing capabilities and unsupported claims"],
  ["attributes classes", PLAN, "VolumeAttributesClass: must exist"],
  ["clusters without attributes classes", PROVISION, "a cluster without VolumeAttributesClasses"],
  ["annotations and finalizers", PROVISION, "a claim gets a volume, and both go"],
  ["HonorPVReclaimPolicy", PROVISION, "a volume with policy Retain stays"],
  ["deletion only of what is released", RECLAIM, "reclaim: "],
  ["roles of secrets, and their keys", SECRET, "secret reference"],
  ["reserved keys", PLAN, "reserved keys choose secrets"],
  ["bad keys", PLAN, "bad parameters"],
  ["templates", `${OF}/secrets/template.test.ts`, "tokens are replaced in both forms"],
  ["secrets at the call", PROVISION, "all keys of the secret go to CreateVolume"],
  ["volumes without annotations", `${OF}/rights/rights.test.ts`, "a volume that an administrator made"],
  ["event ProvisioningFailed", PROVISION, "final errors are repeated with back-off"],
  ["event Provisioning", "only for a call that takes a second: a claim that gets its volume needs none"],
  [
    "event ProvisioningSucceeded",
    `${OF}/provision/journal.test.ts`,
    "many claims at once: a PersistentVolume",
  ],
  ["codes", CODES, "of CreateVolume is"],
  ["errors that are no status", CODES, "a failure that did not come from the driver"],
  ["what may have been made", PROVISION, "an uncertain result ("],
  ["UNIMPLEMENTED", `${OF}/csi/not-implemented.test.ts`, "CreateVolume is called once"],
  ["responses that are not what was asked for", PROVISION, "a volume that is too small"],
  ["restores", PLAN_SOURCE, "restore from a snapshot"],
  ["conversion of volume modes", PLAN_SOURCE, "restore from a snapshot: "],
  ["clones", PLAN_SOURCE, "clone of a claim: "],
  ["sources elsewhere", SOURCES, "a clone of a claim in another namespace"],
  ["ReferenceGrants", `${OF}/common/data-source.test.ts`, "a source in another namespace"],
  ["populators", PLAN, "data sources of other kinds are left"],
  ["a source is kept while it is copied", `${OF}/source-protection/decide.test.ts`, "source protection: "],
  ["capacities", CAPACITY, "one object per place and late-binding class"],
  ["obsolete and double capacities", CAPACITY, "objects of places and classes that are gone"],
  ["capacities are followed", CAPACITY, "a volume that comes has the driver asked"],
  ["owners of capacities", "none, or their Node: they are deleted by what they are for"],
  ["capacities for immediate binding", "no scheduler reads them; a driver that needs them keeps the sidecar"],
  ["distributed provisioning", NODES, "each claim is made once, on one node"],
  ["delays of the race", `${OF}/claim-ownership/decide.test.ts`, "a node holds back longer"],
  ["capacity of each node", NODES, "each node publishes its own capacity"],
  ["a claim that goes while its volume is made", PROVISION, "a claim deleted during CreateVolume"],
  [
    "a PersistentVolume of that name is another's",
    `${OF}/provision/decide.property.test.ts`,
    "whatever happens",
  ],
  [
    "controller_persistentvolumeclaim_*",
    `${OF}/common/volume-metrics.test.ts`,
    "claims and volumes are counted",
  ],
];

/** csi-attacher (1.2). */
const ATTACHER: readonly Feature[] = [
  ["attach, detach, finalizers and annotation", ATTACH, "attach and detach"],
  ["a finalizer's name", ATTACH, "finalizer names keep only"],
  ["a volume under deletion", ATTACH, "a volume under deletion keeps"],
  ["errorCode, one write for an error", ATTACH, "a failed attach is reported once"],
  ["a detach that fails", ATTACH, "a failed detach keeps the object"],
  ["an attach that may have happened", ATTACH, "an uncertain attach is always followed"],
  ["node, volume or secret are gone", ATTACH, "a detach works without the node"],
  ["a node whose driver is not registered", ATTACH, "an attachment waits for its node's driver"],
  ["other attachers", ATTACH, "other attachers' objects are left alone"],
  ["drivers that do not attach", ATTACH, "a driver without ControllerPublishVolume"],
  ["PUBLISH_READONLY", ATTACH, "readonly is passed on only"],
  ["somebody else keeps the object", ATTACH, "when somebody else keeps the object"],
  ["ListVolumes", ATTACH, "a volume that the driver lost from a node"],
  ["--max-entries", `${OF}/csi/client.test.ts`, "a list whose token has expired"],
  ["refusals", `${OF}/csi/refusals.test.ts`, "whatever code comes, the work is done"],
  ["volumes in an attachment's spec", "only migration makes them: see there"],
  [
    "beside Kubernetes' own controller",
    "test/kubernetes/attach-detach/attach-detach.test.ts",
    "a driver that refuses",
  ],
];

/** csi-resizer (1.3). */
const RESIZER: readonly Feature[] = [
  ["growth", RESIZE, "a driver that expands alone"],
  ["growth on the node, pre-resize-capacity", RESIZE, "the node has its part"],
  ["node-expansion-not-required", RESIZE, "a kubelet hears with the size"],
  ["which size is next", SIZES, "expansion target: "],
  ["infeasible sizes, recovery", RESIZE, "an infeasible size is reported"],
  ["uncertain growth", RESIZE, "an uncertain expansion is repeated"],
  ["volumes in use", RESIZE, "an offline-only driver is asked"],
  ["conditions of others", RESIZE, "conditions and annotations of others survive"],
  ["drivers whose nodes do all of it", CRASH, "BY_NODES"],
  ["attributes classes", MODIFY, "a claim that asks for a class gets it"],
  ["classes that are missing", MODIFY, "a class that is not there yet"],
  ["infeasible classes", MODIFY, "an infeasible class is reported"],
  ["uncertain modification", MODIFY, "a change that may have been made"],
  ["secrets, and names on request", MODIFY, "the call has the secret of the class"],
];

/** snapshot-controller and csi-snapshotter (1.4, 1.5). */
const SNAPSHOTTER: readonly Feature[] = [
  ["a snapshot, its finalizers and annotations", SNAPSHOT, "a snapshot is made, becomes ready"],
  ["default classes", CLASS, "the default class of the volume's driver"],
  ["what is wrong is on the snapshot", CLASS, "is an error on the snapshot"],
  ["contents of others", CLASS, "a content that has the name"],
  ["secrets, and reserved keys", CLASS, "the secret of the class goes"],
  ["not ready yet", SNAPSHOT, "a snapshot that is not ready at once"],
  ["events of what takes time", SNAPSHOT, "a snapshot whose driver is slow"],
  ["errors", SNAPSHOT, "errors are on the snapshot"],
  ["being-created", SNAPSHOT, "an uncertain CreateSnapshot is repeated"],
  ["deletions that are refused", SNAPSHOT, "a deletion that the driver refuses"],
  ["policy Retain", SNAPSHOT, "policy Retain keeps the content"],
  ["a snapshot that is merely missing", SNAPSHOT, "a content whose snapshot is merely missing"],
  ["pre-provisioned", IMPORTED, "a pre-provisioned snapshot is bound"],
  ["pre-provisioned and never bound", IMPORTED, "a pre-provisioned content that was never"],
  ["claims are kept while they are copied", PROTECTION, "the data of a claim under deletion"],
  ["snapshots are kept while they are restored", PROTECTION, "a snapshot cannot be deleted under"],
  ["kinds that are not installed", START, "a cluster without the snapshot kinds"],
  ["managed-by, one csi-snapshotter for each node", NODES, "growth, snapshots, restores, attachments"],
  [
    "beside snapshot-controller",
    "test/kubernetes/node-deployment/node-deployment.test.ts",
    "beside snapshot-controller",
  ],
  [
    "UUID lengths of snapshots",
    "names have the whole UID; a driver that needs them shorter keeps the sidecar",
  ],
  ["snapshot_controller_*", `${OF}/common/snapshot-metrics.test.ts`, "counted under the names of snapshot"],
  [
    "reasons of events for writes that conflict",
    "a conflict is no failure: what another has written is read, and nothing is reported",
  ],
];

/** Groups (1.6). */
const GROUPS: readonly Feature[] = [
  ["one call for the selected claims", GROUP, "a group snapshot is made with one call"],
  ["names and objects of members", GROUP, "every member has its two objects"],
  ["matchExpressions", DEFECTS, "G1 matchExpressions"],
  ["classes, secrets, names", GROUP_CLASS, "secrets of the class go to every call"],
  ["secrets of GetVolumeGroupSnapshot", GROUP_CLASS, "GetVolumeGroupSnapshot can have a secret"],
  ["default classes", GROUP_CLASS, "without a class name the one default"],
  ["not ready yet", GROUP, "a group that takes its time is polled"],
  ["pre-provisioned", GROUP_IMPORTED, "a group that exists on storage"],
  ["members that an administrator made", GROUP_IMPORTED, "objects that an administrator has made"],
  ["members go with their group", GROUP_DELETION, "a member cannot be deleted alone"],
  ["policy Retain", GROUP_DELETION, "policy Retain keeps contents"],
  ["deleted while it is created", GROUP_DELETION, "a group that is deleted while it is created"],
  ["v1beta1", `${OF}/group-snapshot-content/decide.test.ts`, "members that only the pairs of v1beta1"],
  ["kinds that are not installed", `${OF}/group-snapshot/bad-input.test.ts`, "plain snapshots do not need"],
];

/** node-driver-registrar, external-health-monitor, livenessprobe (1.7 to 1.9). */
const SMALLER: readonly Feature[] = [
  ["the registrar", "stays: it is the node's part. Standalone's kubelet takes any driver's"],
  ["a driver that registers itself", REGISTRATION, "a driver that registers itself serves pods"],
  ["a socket that is stale, or no driver's", REGISTRATION, "one that never responds"],
  [
    "CSINode, labels, CSIDriver",
    `${OF}/node-registration/registration.test.ts`,
    "a node is known as the driver's",
  ],
  ["conditions of volumes", HEALTH, "a volume in a bad state is reported once"],
  ["nodes that are down", "nothing watches them: Kubernetes itself says it of pods and nodes"],
  ["/healthz", "test/e2e/controller.test.ts", "/healthz is what the driver responds"],
];

/** By the section of the note on them. The cases of their tests are in docs/sidecar-cases.tsv. */
export const SIDECAR_FEATURES: Readonly<Record<string, readonly Feature[]>> = {
  ...{ "1.0": COMMON, "1.1": PROVISIONER, "1.2": ATTACHER, "1.3": RESIZER, "1.4 and 1.5": SNAPSHOTTER },
  ...{ "1.6": GROUPS, "1.7 to 1.9": SMALLER },
};
