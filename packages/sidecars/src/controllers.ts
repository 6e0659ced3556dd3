import { type AttachOptions, runAttach } from "./attach/index.ts";
import { type CapacityOptions, runCapacity } from "./capacity/index.ts";
import type { SidecarContext } from "./common/context.ts";
import { type HealthOptions, runHealth } from "./health/index.ts";
import { type RegistrationOptions, runNodeRegistration } from "./node-registration/index.ts";
import { type ProvisionOptions, runProvision } from "./provision/index.ts";
import { runReclaim } from "./reclaim/index.ts";
import { runResize } from "./resize/index.ts";
import { runSnapshot } from "./snapshot/index.ts";
import { runSnapshotContent, type SnapshotOptions } from "./snapshot-content/index.ts";
import { runSourceProtection } from "./source-protection/index.ts";

/** Settings of single controllers; the defaults are those of the sidecars of the Kubernetes project. */
export interface ControllerOptions {
  provision?: Partial<ProvisionOptions>;
  attach?: Partial<AttachOptions>;
  snapshot?: Partial<SnapshotOptions>;
  capacity?: Partial<CapacityOptions>;
  health?: Partial<HealthOptions>;
  nodeRegistration?: Partial<RegistrationOptions>;
  /** The node that the driver runs on; needed for `node-registration`. */
  nodeName?: string;
}

interface Controller {
  /** Whether the driver and the cluster allow it. */
  supported(context: SidecarContext, options: ControllerOptions): boolean;
  /** Resolves after the signal, when its last work has ended. */
  run(context: SidecarContext, options: ControllerOptions, signal: AbortSignal): Promise<void>;
}

const all = async (...running: Promise<void>[]): Promise<void> => void (await Promise.all(running));

const canSnapshot = ({ driver, hasSnapshotKinds }: SidecarContext): boolean =>
  hasSnapshotKinds && driver.info.can.has("CREATE_DELETE_SNAPSHOT");

/** Everything that can run around a driver, by the name that `--controllers` takes. */
export const CONTROLLERS = {
  provision: {
    supported: ({ driver }) => driver.info.can.has("CREATE_DELETE_VOLUME"),
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
    supported: ({ driver }) => driver.info.can.has("EXPAND_VOLUME") || driver.info.nodeExpansion,
    run: (context, _options, signal) => runResize(context, signal),
  },
  /** Both halves: the cluster-wide binding and the calls to the driver. */
  snapshot: {
    supported: canSnapshot,
    run: (context, options, signal) =>
      all(runSnapshot(context, signal), runSnapshotContent(context, options.snapshot ?? {}, signal)),
  },
  capacity: {
    supported: ({ driver }) => driver.info.can.has("GET_CAPACITY"),
    run: (context, options, signal) => runCapacity(context, options.capacity ?? {}, signal),
  },
  health: {
    supported: () => true,
    run: (context, options, signal) => runHealth(context, options.health ?? {}, signal),
  },
  "node-registration": {
    supported: (_context, { nodeName }) => nodeName !== undefined,
    run: (context, options, signal) =>
      runNodeRegistration(context, options.nodeName ?? "", options.nodeRegistration ?? {}, signal),
  },
} as const satisfies Record<string, Controller>;

export type ControllerName = keyof typeof CONTROLLERS;
