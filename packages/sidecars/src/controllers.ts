import { type AttachOptions, runAttach } from "./attach/index.ts";
import { type CapacityOptions, runCapacity } from "./capacity/index.ts";
import { type NodeDeploymentOptions, runClaimOwnership } from "./claim-ownership/index.ts";
import { runClaimProtection } from "./claim-protection/index.ts";
import type { SidecarContext } from "./common/context.ts";
import type { ContentOptions } from "./content/kind.ts";
import type { DriverInfo } from "./csi/driver-info.ts";
import { runCsiDriver } from "./csi-driver/index.ts";
import type { DeclaredCsiDriver } from "./csi-driver/object.ts";
import { runGroupClone } from "./group-clone/index.ts";
import { runGroupRestore } from "./group-restore/index.ts";
import { runGroupSnapshot } from "./group-snapshot/index.ts";
import { runGroupSnapshotContent } from "./group-snapshot-content/index.ts";
import { type HealthOptions, runHealth } from "./health/index.ts";
import { runModify } from "./modify/index.ts";
import type { ModifyOptions } from "./modify/options.ts";
import { type RegistrationOptions, runNodeRegistration } from "./node-registration/index.ts";
import { type ProvisionOptions, runProvision } from "./provision/index.ts";
import { runReclaim } from "./reclaim/index.ts";
import { runResize } from "./resize/index.ts";
import { runSnapshot } from "./snapshot/index.ts";
import { runSnapshotContent } from "./snapshot-content/index.ts";
import { runSourceProtection } from "./source-protection/index.ts";
import { runVolumeGroup, type VolumeGroupOptions } from "./volume-group/index.ts";

/** Settings of single controllers; the defaults are those of the sidecars of the Kubernetes project. */
export interface ControllerOptions {
  provision?: Partial<ProvisionOptions>;
  attach?: Partial<AttachOptions>;
  modify?: Partial<ModifyOptions>;
  snapshot?: Partial<ContentOptions>;
  groupSnapshot?: Partial<ContentOptions>;
  volumeGroup?: Partial<VolumeGroupOptions>;
  capacity?: Partial<CapacityOptions>;
  health?: Partial<HealthOptions>;
  nodeRegistration?: Partial<RegistrationOptions>;
  /** What the CSIDriver object has to have, of each driver; needed for `csi-driver`. */
  csiDriver?: DeclaredCsiDriver | ((driver: string) => DeclaredCsiDriver | undefined);
  /** The node that the driver runs on; needed for `node-registration`, and with `nodeDeployment`. */
  nodeName?: string;
  /**
   * The driver is one of many, each of which has the volumes of its own node and a process like this one beside it. What is
   * everybody's is done by one of them, which holds the driver's lease.
   */
  nodeDeployment?: NodeDeploymentOptions;
  /** Contents of snapshots name the node that has the volume: each node has a csi-snapshotter of its own. */
  distributedSnapshots?: boolean;
}

interface Controller {
  /** A part of this one, for clusters in which another program runs the other parts. */
  partOf?: ControllerName;
  /** Where each node has a process of its own: done once for all (by the holder of the lease), or by none of them. */
  clusterWide?: "once" | "elsewhere";
  /** On nodes with a kubelet the driver's registrar sees to it. */
  besideKubelet?: true;
  /** Whether the driver allows it. */
  supported(driver: DriverInfo, options: ControllerOptions): boolean;
  /** It waits until VolumeAttributesClasses can be stored. */
  needsAttributesClasses?: boolean;
  /** It waits until VolumeSnapshots can be stored. */
  needsSnapshotKinds?: boolean;
  /** It waits until VolumeGroupSnapshots can be stored, too. */
  needsGroupKinds?: boolean;
  /** It waits until VolumeGroupRestores can be stored, too. */
  needsRestoreKind?: boolean;
  /** It waits until VolumeGroupClones can be stored, too. */
  needsCloneKind?: boolean;
  /** It waits until VolumeGroups can be stored. */
  needsVolumeGroupKinds?: boolean;
  /** Resolves after the signal, when its last work has ended. */
  run(context: SidecarContext, options: ControllerOptions, signal: AbortSignal): Promise<void>;
}

const declaredFor = (declared: ControllerOptions["csiDriver"], driver: string) =>
  typeof declared === "function" ? declared(driver) : declared;

const all = async (...running: Promise<void>[]): Promise<void> => void (await Promise.all(running));

/** A claim with immediate binding is taken by the node that comes first. */
function ownership(
  context: SidecarContext,
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void>[] {
  const { nodeDeployment, provision } = options;
  const { here } = context;
  if (here === undefined || nodeDeployment?.immediateBinding === false) return [];
  return [runClaimOwnership(context, here, { ...nodeDeployment, provision }, signal)];
}

function runSnapshotController(
  context: SidecarContext,
  _options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  return all(
    runSnapshot(context, signal),
    runClaimProtection(context, signal),
    // Of a driver without groups no other controller says so on a VolumeGroupSnapshot.
    ...(context.hasGroupKinds && !context.driver.info.groupSnapshots
      ? [runGroupSnapshot(context, signal)]
      : []),
  );
}

/** `--controllers` takes these names. */
export type ControllerName =
  | "provision"
  | "attach"
  | "resize"
  | "modify"
  | "snapshot"
  | "snapshot-controller"
  | "snapshot-content"
  | "group-snapshot"
  | "group-restore"
  | "group-clone"
  | "volume-group"
  | "capacity"
  | "health"
  | "csi-driver"
  | "node-registration";

/** Everything that can run around a driver. */
export const CONTROLLERS: Readonly<Record<ControllerName, Controller>> = {
  provision: {
    supported: ({ can }) => can.has("CREATE_DELETE_VOLUME"),
    run: (context, options, signal) =>
      all(
        runProvision(context, options.provision ?? {}, signal),
        runReclaim(context, signal),
        runSourceProtection(context, signal),
        ...ownership(context, options, signal),
      ),
  },
  attach: {
    // Also without ControllerPublishVolume: attachments are then marked attached at once (K8S-036).
    supported: () => true,
    run: (context, options, signal) => runAttach(context, options.attach ?? {}, signal),
  },
  resize: {
    supported: ({ can, nodeExpansion }) => can.has("EXPAND_VOLUME") || nodeExpansion,
    run: (context, _options, signal) => runResize(context, signal),
  },
  modify: {
    supported: ({ can }) => can.has("MODIFY_VOLUME"),
    needsAttributesClasses: true,
    run: (context, options, signal) => runModify(context, options.modify ?? {}, signal),
  },
  /** Both halves: the cluster-wide binding and the calls to the driver. */
  snapshot: {
    supported: ({ can }) => can.has("CREATE_DELETE_SNAPSHOT"),
    needsSnapshotKinds: true,
    run: (context, options, signal) =>
      all(
        runSnapshotController(context, options, signal),
        runSnapshotContent(context, options.snapshot ?? {}, signal),
      ),
  },
  /** What one program does for a whole cluster: VolumeSnapshots and their contents. Calls no driver. */
  "snapshot-controller": {
    partOf: "snapshot",
    clusterWide: "once",
    supported: ({ can }) => can.has("CREATE_DELETE_SNAPSHOT"),
    needsSnapshotKinds: true,
    run: runSnapshotController,
  },
  /** What a csi-snapshotter does beside a driver, for a cluster that has a snapshot-controller. */
  "snapshot-content": {
    partOf: "snapshot",
    supported: ({ can }) => can.has("CREATE_DELETE_SNAPSHOT"),
    needsSnapshotKinds: true,
    run: (context, options, signal) => runSnapshotContent(context, options.snapshot ?? {}, signal),
  },
  /** The same two halves for group snapshots, and their members. */
  "group-snapshot": {
    clusterWide: "elsewhere",
    supported: ({ groupSnapshots }) => groupSnapshots,
    needsSnapshotKinds: true,
    needsGroupKinds: true,
    run: (context, options, signal) =>
      all(
        runGroupSnapshot(context, signal),
        runGroupSnapshotContent(context, options.groupSnapshot ?? {}, signal),
      ),
  },
  /** Needs nothing of the driver but snapshots: the claims it makes are the provisioner's work. */
  "group-restore": {
    clusterWide: "elsewhere",
    supported: ({ can }) => can.has("CREATE_DELETE_SNAPSHOT"),
    needsSnapshotKinds: true,
    needsGroupKinds: true,
    needsRestoreKind: true,
    run: (context, _options, signal) => runGroupRestore(context, signal),
  },
  /** Only asks for a group snapshot and a restore: the controllers of those do the work. */
  "group-clone": {
    clusterWide: "elsewhere",
    supported: ({ can, groupSnapshots, volumeGroups }) =>
      can.has("CREATE_DELETE_SNAPSHOT") &&
      groupSnapshots &&
      volumeGroups.has("VOLUME_GROUP") &&
      volumeGroups.has("MODIFY_VOLUME_GROUP"),
    needsSnapshotKinds: true,
    needsGroupKinds: true,
    needsRestoreKind: true,
    needsVolumeGroupKinds: true,
    needsCloneKind: true,
    run: (context, _options, signal) => runGroupClone(context, signal),
  },
  /** Members come and go: a driver that cannot modify groups has none that could be kept as they should be. */
  "volume-group": {
    clusterWide: "elsewhere",
    supported: ({ volumeGroups }) =>
      volumeGroups.has("VOLUME_GROUP") && volumeGroups.has("MODIFY_VOLUME_GROUP"),
    needsVolumeGroupKinds: true,
    run: (context, options, signal) => runVolumeGroup(context, options.volumeGroup ?? {}, signal),
  },
  capacity: {
    supported: ({ can }) => can.has("GET_CAPACITY"),
    run: (context, options, signal) => runCapacity(context, options.capacity ?? {}, signal),
  },
  health: {
    supported: () => true,
    run: (context, options, signal) => runHealth(context, options.health ?? {}, signal),
  },
  "csi-driver": {
    clusterWide: "once",
    supported: ({ name }, { csiDriver }) => declaredFor(csiDriver, name) !== undefined,
    run: (context, { csiDriver }, signal) =>
      runCsiDriver(context, declaredFor(csiDriver, context.driver.info.name) ?? {}, signal),
  },
  "node-registration": {
    besideKubelet: true,
    supported: (_driver, { nodeName }) => nodeName !== undefined,
    run: (context, options, signal) =>
      runNodeRegistration(context, options.nodeName ?? "", options.nodeRegistration ?? {}, signal),
  },
};

const ALL = Object.keys(CONTROLLERS) as ControllerName[];

/** Of the chosen ones, by default of all, those that the driver allows. */
export function supportedControllers(
  driver: DriverInfo,
  { controllers: chosen, ...options }: ControllerOptions & { controllers?: readonly ControllerName[] },
): ControllerName[] {
  const isDefault = (name: ControllerName): boolean => {
    const { besideKubelet, clusterWide, partOf } = CONTROLLERS[name];
    if (partOf !== undefined) return false;
    return options.nodeDeployment === undefined || (clusterWide !== "elsewhere" && besideKubelet !== true);
  };
  const names = chosen ?? ALL.filter(isDefault);
  return names.filter((name) => {
    const { partOf, supported } = CONTROLLERS[name];
    return supported(driver, options) && (partOf === undefined || !names.includes(partOf));
  });
}

/** Who runs which of these controllers, where several processes are started for one driver. */
interface Division {
  /** All of them, at the same time. */
  each: ControllerName[];
  /** The one that holds the lease. */
  leader: ControllerName[];
}

/** Has to run on every node, and so never waits for a lease. */
const ON_EVERY_NODE: ReadonlySet<ControllerName> = new Set(["node-registration"]);

/** Where each node has a process of its own all work at once, but for what is the whole cluster's. */
export function divide(names: readonly ControllerName[], { nodeDeployment }: ControllerOptions): Division {
  const parts = names.flatMap((name) =>
    name === "snapshot" && nodeDeployment !== undefined
      ? (["snapshot-controller", "snapshot-content"] as const)
      : [name],
  );
  const isEach = (name: ControllerName): boolean =>
    nodeDeployment === undefined ? ON_EVERY_NODE.has(name) : CONTROLLERS[name].clusterWide === undefined;
  return { each: parts.filter(isEach), leader: parts.filter((name) => !isEach(name)) };
}
