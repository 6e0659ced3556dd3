import { type AttachOptions, runAttach } from "./attach/index.ts";
import { type CapacityOptions, runCapacity } from "./capacity/index.ts";
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
  /** What the CSIDriver object has to have; needed for `csi-driver`. */
  csiDriver?: DeclaredCsiDriver;
  /** The node that the driver runs on; needed for `node-registration`. */
  nodeName?: string;
}

interface Controller {
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

const all = async (...running: Promise<void>[]): Promise<void> => void (await Promise.all(running));

/** `--controllers` takes these names. */
export type ControllerName =
  | "provision"
  | "attach"
  | "resize"
  | "modify"
  | "snapshot"
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
        runSnapshot(context, signal),
        runClaimProtection(context, signal),
        runSnapshotContent(context, options.snapshot ?? {}, signal),
        // A driver without groups has nobody else to say so on a VolumeGroupSnapshot.
        ...(context.hasGroupKinds && !context.driver.info.groupSnapshots
          ? [runGroupSnapshot(context, signal)]
          : []),
      ),
  },
  /** The same two halves for group snapshots, and their members. */
  "group-snapshot": {
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
    supported: ({ can }) => can.has("CREATE_DELETE_SNAPSHOT"),
    needsSnapshotKinds: true,
    needsGroupKinds: true,
    needsRestoreKind: true,
    run: (context, _options, signal) => runGroupRestore(context, signal),
  },
  /** Only asks for a group snapshot and a restore: the controllers of those do the work. */
  "group-clone": {
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
    supported: (_driver, { csiDriver }) => csiDriver !== undefined,
    run: (context, options, signal) => runCsiDriver(context, options.csiDriver ?? {}, signal),
  },
  "node-registration": {
    supported: (_driver, { nodeName }) => nodeName !== undefined,
    run: (context, options, signal) =>
      runNodeRegistration(context, options.nodeName ?? "", options.nodeRegistration ?? {}, signal),
  },
};
